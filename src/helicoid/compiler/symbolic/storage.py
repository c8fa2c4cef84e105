"""One file that holds a function: its names, shapes and tangents, and CasADi's own serialization.

The file is JSON, compressed with gzip, whose checksum also detects a damaged file before CasADi reads it.
Nothing in it is unpickled.
"""

from __future__ import annotations

import gzip
import json
import os
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import casadi as ca

from helicoid.compiler.symbolic.signature import Input, Output
from helicoid.errors import HelicoidError

_FORMAT = "helicoid function"
_VERSION = 1
MAX_BYTES = 1 << 30  # of text: a function of ten million operations has a third of it


def save_function(
    path: str | os.PathLike[str],
    name: str,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    function: ca.Function,
) -> None:
    """Write the file; an existing one is replaced at once, so that a reader never sees half of it."""
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "name": name,
        "inputs": [_input_to_json(item) for item in inputs],
        "outputs": [{"name": item.name, "shape": item.shape} for item in outputs],
        "function": function.serialize(),
    }
    data = gzip.compress(json.dumps(content).encode(), mtime=0)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def load_function(path: str | os.PathLike[str]) -> tuple[str, list[Input], list[Output], ca.Function]:
    """Name, inputs, outputs and CasADi function from a file that `save_function` wrote.

    Raises:
        HelicoidError: the file is missing, damaged, of another kind or of another version.
    """
    content = _read(path)
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise HelicoidError(f"{path}: is no file that Function.save wrote")
    if content.get("version") != _VERSION:
        raise HelicoidError(
            f"{path}: has format version {content.get('version')}, this Helicoid reads {_VERSION}; "
            "save the function again"
        )
    try:
        inputs = [_input_from_json(item) for item in content["inputs"]]
        outputs = [Output(item["name"], tuple(item["shape"])) for item in content["outputs"]]
        return str(content["name"]), inputs, outputs, ca.Function.deserialize(content["function"])
    except Exception as error:  # whatever CasADi makes of damaged text
        raise HelicoidError(f"{path}: the function in this file cannot be restored: {error}") from error


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        with gzip.open(path) as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise ValueError(f"it expands to more than {MAX_BYTES / 1e6:.6g} MB")
        return json.loads(text)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise HelicoidError(
            f"{path}: cannot be read as a file that Function.save wrote, or is damaged: {error}"
        ) from error


def _input_to_json(item: Input) -> dict[str, Any]:
    tangent = None if item.tangent is None else item.tangent.serialize()
    return {"name": item.name, "shape": item.shape, "rate": item.rate, "tangent": tangent}


def _input_from_json(item: dict[str, Any]) -> Input:
    tangent = None if item["tangent"] is None else ca.Function.deserialize(item["tangent"])
    return Input(item["name"], tuple(item["shape"]), tangent, item["rate"])
