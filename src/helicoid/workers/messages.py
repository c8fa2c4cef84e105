"""Messages between a worker process and its parent: a header with a mark and a length, then bytes."""

from __future__ import annotations

import os
import struct

_HEADER = struct.Struct("<8sQ")
_MARK = b"helicoid"


class ForeignBytesError(Exception):
    """Bytes that are no message: somebody else wrote into the socket."""


def framed(message: bytes) -> bytes:
    """A message with its header."""
    return _HEADER.pack(_MARK, len(message)) + message


class Incoming:
    """Assembly of one message from the pieces in which it arrives.

    >>> incoming = Incoming()
    >>> data = framed(b"rows")
    >>> incoming.add(data[:5]), incoming.add(data[5:])
    (None, b'rows')
    """

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, piece: bytes) -> bytes | None:
        """The message once it is complete.

        Raises:
            ForeignBytesError: the header is not one of ours, or more follows than it announces.
        """
        self._data += piece
        if not self._data.startswith(_MARK[: len(self._data)]):
            raise ForeignBytesError
        if len(self._data) < _HEADER.size:
            return None
        end = _HEADER.size + _HEADER.unpack_from(self._data)[1]
        if len(self._data) > end:
            raise ForeignBytesError
        return bytes(self._data[_HEADER.size :]) if len(self._data) == end else None


def write_message(descriptor: int, message: bytes) -> None:
    """Write a message and wait until all of it is taken."""
    left = memoryview(framed(message))
    while left:
        left = left[os.write(descriptor, left) :]


def read_message(descriptor: int) -> bytes:
    """Wait for the next message.

    Raises:
        EOFError: the other end is closed.
    """
    incoming = Incoming()
    while True:
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            raise EOFError
        message = incoming.add(piece)
        if message is not None:
            return message
