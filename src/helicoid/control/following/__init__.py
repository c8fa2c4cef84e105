"""References over time for controllers: `Following`, the result of every controller's `following`."""

from helicoid.control.following.following import Following, LawFollowing, posture_reference

__all__ = ["Following", "LawFollowing", "posture_reference"]
