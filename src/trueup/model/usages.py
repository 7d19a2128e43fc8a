# SPDX-License-Identifier: Apache-2.0
"""Sums of allocations, in the groups that clients ask for."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TypeUsage:
    """The amounts that consumers of one type hold, by resource class, and how many they are."""

    consumer_type: str
    consumers: int
    amounts: Mapping[str, int]
