"""The robots that come with Helicoid: URDF files beside this module, and a chain of any length.

The figures and where they come from are listed in ``README.md`` in this folder.

>>> "panda" in names()
True
>>> text("ur5").startswith("<?xml")
True
"""

from __future__ import annotations

import atexit
import copy
import difflib
import operator
from contextlib import ExitStack
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from helicoid.errors import InputError, ModelError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["names", "path", "serial_chain_urdf", "text"]

_SUFFIX = ".urdf"

# Files unpacked from a zipped package live until the interpreter ends, so that `path` needs no `with`.
_unpacked_files = ExitStack()
atexit.register(_unpacked_files.close)


def names() -> list[str]:
    """Names of the bundled robots, sorted.

    >>> names()[:3]
    ['double_pendulum', 'kuka_lwr4', 'pan_tilt_pendulum']
    """
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return sorted(file.removesuffix(_SUFFIX) for file in files if file.endswith(_SUFFIX))


def text(name: str) -> str:
    """URDF text of the bundled robot `name`; `ModelError` for a name that is not bundled.

    >>> '<robot name="planar_2r">' in text("planar_2r")
    True
    """
    return (resources.files(__name__) / _file_name(name)).read_text(encoding="utf-8")


@cache
def path(name: str) -> Path:
    """Path of the bundled robot's URDF file, for tools that read files.

    When the package is imported from a zip, the file is unpacked to a temporary place that lasts
    as long as the interpreter.

    >>> path("ur5").suffix
    '.urdf'
    """
    return _unpacked_files.enter_context(resources.as_file(resources.files(__name__) / _file_name(name)))


def serial_chain_urdf(n: int) -> str:
    """URDF text of a UR5-like arm of `n` >= 1 revolute joints: UR5 arms end to end, cut after joint `n`.

    Every sixth joint starts a new UR5 that stands on the flange of the one before, without a base of
    its own. The joints are ``joint_1`` to ``joint_n``, the bodies ``base_link`` and ``link_1`` to
    ``link_n``. The massless frame ``tool0`` sits where the next joint would be, or at the flange when
    `n` is a multiple of six: ``serial_chain_urdf(6)`` is the bundled UR5 under other names.

    >>> serial_chain_urdf(7).count('type="revolute"')
    7
    """
    from xml.etree import ElementTree

    n = _joint_count(n)
    ur5 = ElementTree.fromstring(text("ur5"))
    links = {link.attrib["name"]: link for link in ur5.findall("link")}
    joints = {joint.attrib["name"]: joint for joint in ur5.findall("joint")}
    moving = [joint for joint in joints.values() if joint.get("type") == "revolute"]

    chain = ElementTree.Element("robot", name=f"serial_chain_{n}")
    chain.extend([*ur5.findall("material"), links["base_link"]])
    parent = "base_link"
    for i in range(n):
        if i > 0 and i % 6 == 0:
            flange = f"flange_{i}"
            chain.append(_renamed(joints["tool0_joint"], f"{flange}_joint", parent, flange))
            chain.append(_renamed(links["tool0"], flange))
            parent = flange
        joint, child = moving[i % 6], f"link_{i + 1}"
        chain.append(_renamed(joint, f"joint_{i + 1}", parent, child))
        chain.append(_renamed(links[joint.findall("child")[0].attrib["link"]], child))
        parent = child
    tip = _renamed(joints["tool0_joint"], "tool0_joint", parent, "tool0")
    if n % 6:
        tip.findall("origin")[0].attrib = moving[n % 6].findall("origin")[0].attrib
    chain.extend([tip, links["tool0"]])
    ElementTree.indent(chain)
    return ElementTree.tostring(chain, encoding="unicode")


def _renamed(element: Element, name: str, parent: str | None = None, child: str | None = None) -> Element:
    """Copy of a `<link>`, or of a `<joint>` between two other links, under another name."""
    element = copy.deepcopy(element)
    element.set("name", name)
    for end, link in ("parent", parent), ("child", child):
        if link is not None:
            element.findall(end)[0].set("link", link)
    return element


def _joint_count(n: int) -> int:
    try:
        count = operator.index(n)
    except TypeError:
        count = 0
    if count < 1 or isinstance(n, bool):
        raise InputError(f"a serial chain needs a whole number of joints, 1 or more; got {n!r}")
    return count


def _file_name(name: str) -> str:
    known = names()
    if name not in known:
        near = difflib.get_close_matches(str(name).lower(), known, n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(known)}"
        raise ModelError(f"no bundled robot is called {name!r}; {hint}")
    return f"{name}{_SUFFIX}"
