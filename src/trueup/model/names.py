# SPDX-License-Identifier: Apache-2.0
"""What counts as a name: UUIDs, resource classes, traits and consumer types.

Whether a name *exists* is the store's business; here is only what it may look like.
"""

import re
import uuid

CUSTOM_PREFIX = "CUSTOM_"
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"

# A consumer whose type was never stated has none in the store and this one on the wire.
UNKNOWN_CONSUMER_TYPE = "unknown"

MAX_INTEGER = 2**31 - 1
"""The largest amount the store's integer columns hold."""

MAX_RATIO = 3.40282e38
"""The largest allocation ratio a single-precision column holds."""

_DECORATION = re.compile(r"urn:|uuid:|[{}-]")


def is_uuid(text: object) -> bool:
    """Whether clients may use `text` as a UUID; dashes and upper case are optional."""
    if not isinstance(text, str):
        return False
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        return False
    return parsed.hex == _DECORATION.sub("", text).lower()


def canonical_uuid(text: str) -> str:
    """The lower-case form with dashes, which is how the ledger keeps it."""
    return str(uuid.UUID(text))


def is_custom(name: str) -> bool:
    """Whether an operator made this class or trait; the others come with OpenStack."""
    return name.startswith(CUSTOM_PREFIX)
