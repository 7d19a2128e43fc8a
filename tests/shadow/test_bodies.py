# SPDX-License-Identifier: Apache-2.0
import io
from email.message import Message

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.shadow.bodies import BodyBroken, body_of

CHUNKED = {"Transfer-Encoding": "Chunked"}


def headers(words: dict[str, str]) -> Message:
    made = Message()
    for name, value in words.items():
        made[name] = value
    return made


def test_without_a_length_there_is_no_body():
    assert body_of(headers({}), io.BytesIO(b"the next request")) is None


@given(parts=st.lists(st.binary(min_size=1)), after=st.binary())
def test_chunks_are_put_together_and_what_follows_stays(parts, after):
    chunks = b"".join(b"%X;name=value\r\n%s\r\n" % (len(part), part) for part in parts)
    source = io.BytesIO(chunks + b"0\r\nTrailer: x\r\n\r\n" + after)
    assert body_of(headers(CHUNKED), source) == b"".join(parts)
    assert source.read() == after


def test_chunks_count_more_than_a_length():
    """RFC 9112, 6.3."""
    source = io.BytesIO(b"3\r\nabc\r\n0\r\n\r\n")
    assert body_of(headers({**CHUNKED, "Content-Length": "2"}), source) == b"abc"


@pytest.mark.parametrize(
    ("words", "content"),
    [
        ({"Content-Length": "4"}, b"abc"),
        ({"Content-Length": "-1"}, b"abc"),
        ({"Content-Length": "4, 4"}, b"abcd"),
        ({"Transfer-Encoding": "gzip, chunked"}, b"0\r\n\r\n"),
        (CHUNKED, b""),
        (CHUNKED, b"3\r\nab"),
        (CHUNKED, b"3\r\nabc\r\n"),
        (CHUNKED, b"2\r\nabc\r\n0\r\n\r\n"),
        (CHUNKED, b"-1\r\n\r\n"),
        (CHUNKED, b"0x3\r\nabc\r\n0\r\n\r\n"),
        (CHUNKED, b"\r\n"),
        (CHUNKED, b"0\r\n"),
    ],
)
def test_half_a_body_is_refused(words, content):
    with pytest.raises(BodyBroken):
        body_of(headers(words), io.BytesIO(content))
