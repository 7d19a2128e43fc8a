# SPDX-License-Identifier: Apache-2.0
"""Reads the body of a request, by Content-Length or in chunks (RFC 9112)."""

import re
from dataclasses import dataclass
from email.message import Message
from io import BufferedIOBase

_LINE_BYTES_MAX = 65536
_DIGITS, _HEX_DIGITS = re.compile(r"[0-9]+"), re.compile(rb"[0-9A-Fa-f]+")


@dataclass(eq=False)
class BodyBroken(Exception):
    """The body is incomplete or its length is invalid: it must not be passed on."""

    reason: str


def body_of(headers: Message, source: BufferedIOBase) -> bytes | None:
    """The whole body, without its chunks; None if the request has none. Raises BodyBroken."""
    coding = headers.get("Transfer-Encoding")
    if coding is not None:
        if coding.strip().lower() != "chunked":
            raise BodyBroken(f"Transfer-Encoding: {coding} is not supported, only chunked")
        return b"".join(iter(lambda: _chunk(source), b""))
    length = headers.get("Content-Length")
    if length is None:
        return None
    if not _DIGITS.fullmatch(length.strip()):
        raise BodyBroken(f"Content-Length: {length} is not a number")
    return _exactly(int(length), source)


def _chunk(source: BufferedIOBase) -> bytes:
    """The next chunk; empty at the end of the body, whose trailers are dropped."""
    digits = _line(source).partition(b";")[0].strip()
    if not _HEX_DIGITS.fullmatch(digits):
        raise BodyBroken("the length of a chunk is not a number")
    content = _exactly(int(digits, 16), source)
    if content:
        if _line(source):
            raise BodyBroken("a chunk is longer than it says")
        return content
    while _line(source):
        pass
    return b""


def _line(source: BufferedIOBase) -> bytes:
    line = source.readline(_LINE_BYTES_MAX)
    if not line.endswith(b"\n"):
        raise BodyBroken("the body ends too early")
    return line.rstrip(b"\r\n")


def _exactly(length: int, source: BufferedIOBase) -> bytes:
    content = source.read(length)
    if len(content) < length:
        raise BodyBroken("the body ends too early")
    return content
