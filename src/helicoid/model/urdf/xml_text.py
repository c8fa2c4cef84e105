"""XML of a written description: numbers to their last digit, valid text, files whole or not at all."""

from __future__ import annotations

import os
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from xml.parsers import expat

import numpy as np

from helicoid.errors import InputError, ModelError


def words(values: Iterable[float], what: str) -> str:
    """Numbers as an attribute holds them; raises ModelError where one is not finite: `what` names them."""
    numbers = [float(value) for value in values]
    if not np.all(np.isfinite(numbers)):
        raise ModelError(f"{what} is not finite: {numbers}")
    return " ".join(map(repr, numbers))


def to_text(root: ET.Element, robot: str) -> str:
    """The document, indented; raises ModelError where a name of the robot cannot be written."""
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode").replace(" />", "/>") + "\n"  # a > in a name is escaped
    try:
        expat.ParserCreate("utf-8").Parse(text.encode(), True)  # ElementTree writes what no XML can hold
    except (expat.ExpatError, ValueError) as error:
        raise ModelError(f"robot {robot!r}: a name cannot be written as XML: {error}") from error
    return text


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a file, whole or not at all."""
    target = os.path.abspath(os.fsdecode(path))
    draft = os.path.join(os.path.dirname(target), f".{uuid.uuid4().hex}.xml")
    try:
        with open(draft, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, target)
    except (OSError, ValueError) as error:
        raise InputError(f"{target}: cannot be written: {error}") from error
    finally:
        if os.path.exists(draft):
            os.remove(draft)
