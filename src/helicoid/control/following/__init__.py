"""References over time for controllers: `Following`, the result of every controller's `following`."""

from helicoid.control.following.following import Following, LawFollowing, posture_reference
from helicoid.control.following.signals import real_array, shown

__all__ = ["Following", "LawFollowing", "posture_reference", "real_array", "shown"]
