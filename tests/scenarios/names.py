# SPDX-License-Identifier: Apache-2.0
"""Names stand for uuids: `uuid_of("web")` is the uuid of whatever is called web."""

import uuid


def uuid_of(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))
