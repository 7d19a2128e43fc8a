# SPDX-License-Identifier: Apache-2.0
"""Names stand for uuids: `uuid_of("web")` is the uuid of whatever is called web."""

import uuid
from functools import cache

from trueup.reconcile.facts import canonical_uuid, is_uuid


@cache
def uuid_of(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def aggregate_of(word: str) -> str:
    """The uuid of the aggregate of this name. A uuid is itself, and so is a text in brackets."""
    return word if is_uuid(canonical_uuid(word)) or word.startswith("[") else uuid_of(word)
