"""Misprints of the documents: for each, whether the right formula holds, and whether the printed one does."""

from document_misprints import caramizaru, course_slides, course_summary, garofalo, johannessen
from document_misprints.common import MISPRINTS

__all__ = ["MISPRINTS", "caramizaru", "course_slides", "course_summary", "garofalo", "johannessen"]
