"""Whatever is done to a URDF, reading it gives a robot or an error of ours; never another exception."""

from __future__ import annotations

import copy
import random
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from helicoid.errors import DoubtfulModelWarning, HelicoidError
from helicoid.model import bundled
from helicoid.model.model import Model
from helicoid.model.urdf.reader import read_urdf, read_urdf_text
from helicoid.model.urdf.writer import to_urdf_text

ADVERSARIAL = Path(__file__).parent / "adversarial"
BUNDLED = Path(str(bundled.__file__)).parent
FILES = [*sorted(BUNDLED.glob("*.urdf")), *sorted(ADVERSARIAL.glob("*.urdf"))]
FAULTY = [path.read_bytes() for path in FILES if path.stem.startswith("error_")]
SOUND = [path.read_bytes() for path in FILES if not path.stem.startswith("error_")]
QUICK, THOROUGH, BATCH = 300, 10_000, 100

NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1e400",
    "1e308",
    "1e-320",
    "",
    "a",
    "-0",
    "0",
    "-1",
    "1,5",
    "0x10",
)
WORDS = (
    *NUMBERS,
    "1 2",
    "0 0 0",
    "1 2 3 4",
    "base",
    "fixed",
    "ball",
    "screw",
    "planar",
    "\u0661",
    "x" * 5000,
)
TAGS = (
    "link",
    "joint",
    "inertial",
    "origin",
    "axis",
    "limit",
    "mimic",
    "helicoid",
    "geometry",
    "gazebo",
    "x",
)
BOMB = (
    '<!DOCTYPE robot [<!ENTITY a "boom"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d SYSTEM "file:///etc/passwd">]>'
)

Mutation = Callable[[random.Random, bytes], bytes]


def flip_bytes(rng: random.Random, data: bytes) -> bytes:
    mutable = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        if mutable:
            mutable[rng.randrange(len(mutable))] = rng.randrange(256)
    return bytes(mutable)


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def splice(rng: random.Random, data: bytes) -> bytes:
    """Move a piece of the file elsewhere, keeping the original or not."""
    start, end, at = sorted(rng.randrange(len(data) + 1) for _ in range(3))
    piece = data[start:end]
    rest = data if rng.random() < 0.5 else data[:start] + data[end:]
    return rest[:at] + piece + rest[at:]


def insert(rng: random.Random, data: bytes, piece: bytes) -> bytes:
    at = rng.choice([i for i, byte in enumerate(data) if byte == ord(">")] or [-1]) + 1
    return data[:at] + piece + data[at:]


def add_entities(rng: random.Random, data: bytes) -> bytes:
    return BOMB.encode() + insert(rng, data, rng.choice([b"&c;", b"&d;", b'<link name="&c;"/>']))


def nest_deeply(rng: random.Random, data: bytes) -> bytes:
    tag, depth = rng.choice(TAGS).encode(), rng.choice([3, 200, 2000])
    return insert(rng, data, b"<%b>" % tag * depth + b"</%b>" % tag * depth)


def on_tree(change: Callable[[random.Random, list[ET.Element]], None]) -> Mutation:
    """The mutation of a file that changes its elements, given in document order."""

    def mutate(rng: random.Random, data: bytes) -> bytes:
        try:
            root = ET.fromstring(data)
            change(rng, list(root.iter()))
            return ET.tostring(root)
        except (ET.ParseError, RecursionError, LookupError, ValueError):
            return data  # what an earlier mutation made of it is no tree, or too deep a one

    return mutate


def with_attributes(elements: list[ET.Element]) -> list[ET.Element]:
    return [element for element in elements if element.attrib] or elements[:1]


def delete_attribute(rng: random.Random, elements: list[ET.Element]) -> None:
    element = rng.choice(with_attributes(elements))
    for key in rng.sample(sorted(element.keys()), min(1, len(element.attrib))):
        del element.attrib[key]


def replace_attribute(rng: random.Random, elements: list[ET.Element]) -> None:
    element = rng.choice(with_attributes(elements))
    for key in rng.sample(sorted(element.keys()), min(1, len(element.attrib))):
        words = element.attrib[key].split() or [""]
        words[rng.randrange(len(words))] = rng.choice(WORDS)
        element.set(key, rng.choice([" ".join(words), rng.choice(WORDS)]))


def swap_attributes(rng: random.Random, elements: list[ET.Element]) -> None:
    one, other = (rng.choice(with_attributes(elements)) for _ in range(2))
    for key, value in list(other.attrib.items()):
        one.set(key, value)


def delete_element(rng: random.Random, elements: list[ET.Element]) -> None:
    parent = rng.choice([element for element in elements if len(element)] or elements)
    if len(parent):
        del parent[rng.randrange(len(parent))]


def copy_element(rng: random.Random, elements: list[ET.Element]) -> None:
    """Into any other element: doubles, nests and misplaces."""
    target = rng.choice(elements)
    target.insert(rng.randint(0, len(target)), copy.deepcopy(rng.choice(elements)))


def reorder_children(rng: random.Random, elements: list[ET.Element]) -> None:
    element = rng.choice(elements)
    element[:] = rng.sample(list(element), len(element))


def rename_element(rng: random.Random, elements: list[ET.Element]) -> None:
    rng.choice(elements).tag = rng.choice(TAGS)


MUTATIONS: list[Mutation] = [
    *(flip_bytes, truncate, splice, add_entities, nest_deeply),
    # Values and places are where most of what can go wrong hides: these come twice as often.
    *map(on_tree, 2 * [delete_attribute, replace_attribute, swap_attributes, delete_element]),
    *map(on_tree, 2 * [copy_element, reorder_children, rename_element]),
]


def read_and_use(path: Path) -> Model | None:
    """The robot, used as far as a model can be, or None when reading it raised an error of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an overflow or a division by zero of NumPy's is a defect
        warnings.simplefilter("ignore", DoubtfulModelWarning)
        try:
            model = read_urdf(path, floating=len(path.read_bytes()) % 2 == 0)
        except HelicoidError:
            return None
        assert len(model.frames) == len(model.links)
        assert model.nv == sum(body.joint.type.nv for body in model.bodies if body.joint.mimic is None)
        again = read_urdf_text(to_urdf_text(model), floating=model.floating)
        assert (again.nq, again.nv, len(again.bodies)) == (model.nq, model.nv, len(model.bodies))
        return model


def fuzz(start: int, folder: Path) -> int:
    """How many of a batch of mutated files are still robots. The last file stays for a look at it."""
    robots = 0
    for seed in range(start, start + BATCH):
        rng = random.Random(seed)
        data = rng.choice(SOUND if rng.random() < 0.8 else FAULTY)
        for _ in range(rng.choice([1, 1, 2, 4])):
            data = rng.choice(MUTATIONS)(rng, data)
        path = folder / "mutated.urdf"
        path.write_bytes(data)
        robots += read_and_use(path) is not None
    return robots


@pytest.mark.parametrize("start", range(0, QUICK, BATCH))
def test_mutated_files(start: int, tmp_path: Path) -> None:
    # All errors, or none, would mean that the mutations no longer reach what they are to try.
    assert 0 < fuzz(start, tmp_path) < BATCH


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, THOROUGH, BATCH))
def test_many_mutated_files(start: int, tmp_path: Path) -> None:
    assert 0 < fuzz(start, tmp_path) < BATCH


def chain(n: int, extra: str = "") -> str:
    links = "".join(f'<link name="{i}"/>' for i in range(n + 1))
    joints = "".join(
        f'<joint name="{i}" type="continuous"><parent link="{i}"/><child link="{i + 1}"/>'
        f"{extra.format(next=i + 1) if i + 1 < n else ''}</joint>"
        for i in range(n)
    )
    return links + joints


LONG = "n" * 1_000_000
MASS = '<link name="a"><inertial><mass value="{}"/></inertial></link>'
JOINT = '<joint name="{}" type="revolute"><parent link="0"/><child link="{}"/>{}</joint>'
# What is said about each; nothing when it is a robot after all.
HOSTILE = {
    "long name": (f'<link name="{LONG}"/>', ""),
    "long name, unknown": (chain(1) + JOINT.format("j", LONG, ""), "(1000000 characters), but there is no"),
    "long mimic, unknown": (
        chain(2) + '<link name="x"/>' + JOINT.format(LONG, "x", f'<mimic joint="{LONG}a"/>'),
        "(1000001 characters), but there is no such joint",
    ),
    "long number": (MASS.format("1" * 1_000_000), "must be one number"),
    "many numbers": (MASS.format("1 " * 1_000_000), "must be one number"),
    "many attributes": ("<link name='a' " + " ".join(f"a{i}=''" for i in range(20_000)) + "/>", ""),
    "many roots": ("".join(f'<link name="{i}"/>' for i in range(10_000)), "exactly one root"),
    "long chain": (chain(1100), ""),
    "long chain of mimics": (chain(1100, '<mimic joint="{next}" multiplier="-1"/>'), ""),
    "overflowing mimics": (chain(300, '<mimic joint="{next}" multiplier="1e30"/>'), "mimics overflows"),
    "deep": ("<link>" * 100_000 + "</link>" * 100_000, "faulty XML"),
    "many comments": ("<!-- - -->" * 100_000 + '<link name="a"/>', ""),
    "many prefixes": ("".join(f'<x{i}:y xmlns:x{i}="u"/>' for i in range(5_000)) + '<link name="a"/>', ""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file(name: str, tmp_path: Path) -> None:
    content, complaint = HOSTILE[name]
    path = tmp_path / "hostile.urdf"
    path.write_text(f'<robot name="hostile">{content}</robot>')
    if not complaint:
        assert read_and_use(path) is not None
        return
    with pytest.raises(HelicoidError) as caught:
        read_urdf(path)
    assert complaint in str(caught.value)
