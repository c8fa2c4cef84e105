"""What time-optimal motion raises beside wrong input."""

from helicoid.errors import HelicoidError


class InfeasiblePath(HelicoidError):
    """A path that no motion within the limits leads along; says where, and what is in the way."""
