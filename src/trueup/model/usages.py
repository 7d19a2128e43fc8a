# SPDX-License-Identifier: Apache-2.0
"""Sums of what is held, grouped as clients ask for them."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TypeUsage:
    """What consumers of one type hold together, by resource class, and how many they are."""

    consumer_type: str
    consumers: int
    amounts: Mapping[str, int]
