"""A page that plays the motion of a robot by itself: Python writes it, WebGL draws it."""

from helicoid.view.player.page import COLORS, Marker, motion_html, motion_page

__all__ = ["COLORS", "Marker", "motion_html", "motion_page"]
