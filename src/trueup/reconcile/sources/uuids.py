# SPDX-License-Identifier: Apache-2.0
"""Which texts are UUIDs in the canonical form: the only one in which Placement finds anything."""

import re

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID, with dashes and in lower case."""
    return _UUID.fullmatch(text) is not None
