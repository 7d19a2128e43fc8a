# SPDX-License-Identifier: Apache-2.0
"""Reads the Accept header of a client.

PARITY: with WebOb, as upstream. Falcon refuses a malformed header, which upstream reads as `*/*`,
and decides otherwise where a range has parameters.
"""

from functools import lru_cache

from webob.acceptparse import create_accept_header


# PERF: a service meets a handful of headers.
@lru_cache(maxsize=256)
def quality(accept: str, media_type: str) -> float:
    """The quality value of a media type in this header: from 0, not accepted, to 1."""
    offers: list[tuple[str, float]] = create_accept_header(accept).acceptable_offers([media_type])
    return offers[0][1] if offers else 0.0
