# SPDX-License-Identifier: Apache-2.0
"""The names of resource classes, traits and consumer types, and the limits of amounts.

The store has the names of a ledger; this module only says which names and numbers are valid.
"""

import os_resource_classes

CUSTOM_PREFIX = "CUSTOM_"
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"

# A consumer without a type in the store has this one in answers.
UNKNOWN_CONSUMER_TYPE = "unknown"

MAX_INTEGER = 2**31 - 1
"""The largest amount that an integer column of the database holds."""

MAX_RATIO = 3.40282e38
"""The largest allocation ratio that a single-precision column of the database holds."""


def is_custom(name: str) -> bool:
    """Whether this is the name of a custom resource class or trait, not of a standard one."""
    return name.startswith(CUSTOM_PREFIX)


def is_resource_class(name: str) -> bool:
    """Whether this is a standard resource class, or may be a custom one."""
    return is_custom(name) or name in os_resource_classes.STANDARDS


def custom_resource_class(label: str) -> str:
    """The custom resource class that OpenStack's services derive from a label: `CUSTOM_6GB`."""
    return str(os_resource_classes.normalize_name(label))
