# SPDX-License-Identifier: Apache-2.0
"""What counts as a name: resource classes, traits and consumer types.

Whether a name *exists* is the store's business; here is only what it may look like.
"""

import os_resource_classes

CUSTOM_PREFIX = "CUSTOM_"
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"

# A consumer whose type was never stated has none in the store and this one on the wire.
UNKNOWN_CONSUMER_TYPE = "unknown"

MAX_INTEGER = 2**31 - 1
"""The largest amount the store's integer columns hold."""

MAX_RATIO = 3.40282e38
"""The largest allocation ratio a single-precision column holds."""


def is_custom(name: str) -> bool:
    """Whether an operator made this class or trait; the others come with OpenStack."""
    return name.startswith(CUSTOM_PREFIX)


def is_resource_class(name: str) -> bool:
    """Whether OpenStack has this class, or an operator may have made it."""
    return is_custom(name) or name in os_resource_classes.STANDARDS


def custom_resource_class(label: str) -> str:
    """The custom class that OpenStack's services make of a label: `6GB` → `CUSTOM_6GB`."""
    return str(os_resource_classes.normalize_name(label))
