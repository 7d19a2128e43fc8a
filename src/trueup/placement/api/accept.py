# SPDX-License-Identifier: Apache-2.0
"""What a client accepts: its Accept header, judged by the library that upstream's service uses.

PARITY: WebOb and not Falcon, which refuses a malformed header where upstream reads it as `*/*`,
and gives other answers where a range has parameters.
"""

from functools import lru_cache

from webob.acceptparse import create_accept_header


# PERF: a service meets a handful of headers.
@lru_cache(maxsize=256)
def quality(accept: str, media_type: str) -> float:
    """How much a client with this header prefers a type: from 0, not accepted, to 1."""
    offers: list[tuple[str, float]] = create_accept_header(accept).acceptable_offers([media_type])
    return offers[0][1] if offers else 0.0
