# SPDX-License-Identifier: Apache-2.0
"""UUIDs, and other text in their place. Nova and Placement find only the canonical form: with
dashes, and in lower case."""

import re
from uuid import UUID

_LENGTH = 36
_CANONICAL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def canonical_uuid(written: str) -> str:
    """A UUID with dashes and in lower case. Text that is not a UUID is returned unchanged."""
    if len(written) == _LENGTH and written.islower():
        return written
    try:
        return str(UUID(written))
    except ValueError:
        return written


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID in the canonical form."""
    return _CANONICAL.fullmatch(text) is not None
