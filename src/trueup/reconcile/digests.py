# SPDX-License-Identifier: Apache-2.0
"""Digests: versions for targets whose service keeps none."""

from hashlib import sha256

import msgspec


def digest(state: msgspec.Struct | None) -> str | None:
    """A digest of the state of a target; None: it does not exist."""
    return None if state is None else sha256(msgspec.json.encode(state)).hexdigest()
