# SPDX-License-Identifier: Apache-2.0
"""Which texts are UUIDs in the canonical form: the only one in which Placement finds anything."""

import re
from collections.abc import Iterable

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID, with dashes and in lower case."""
    return _UUID.fullmatch(text) is not None


def other_forms(uuids: Iterable[str]) -> list[str]:
    """These UUIDs in capitals, without dashes and both, as a hand may have written them.

    A server that compares with case, as SQLite and PostgreSQL, finds each form by itself only.
    """
    canonical = [one for one in uuids if is_uuid(one)]
    digits = [one.replace("-", "") for one in canonical]
    return sorted({*(one.upper() for one in (*canonical, *digits)), *digits} - {*canonical})
