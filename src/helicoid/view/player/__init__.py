"""Stand-alone HTML player of robot motions, drawn by WebGL."""

from helicoid.view.player.page import COLORS, Marker, motion_html, motion_page

__all__ = ["COLORS", "Marker", "motion_html", "motion_page"]
