"""Error for a path that cannot be followed within the limits."""

from helicoid.errors import HelicoidError


class InfeasiblePath(HelicoidError):
    """A path that no motion within the limits follows; `message` says where, and which limit prevents it."""

    success = False

    @property
    def message(self) -> str:
        """Place where the path cannot be followed, and the reason."""
        return str(self)
