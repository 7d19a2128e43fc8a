# SPDX-License-Identifier: Apache-2.0
"""The verbs. One function is one transaction: gather, decide, write."""

from trueup.placement.transactions import (
    aggregates,
    allocations,
    inventories,
    providers,
    reshaper,
    resource_classes,
    traits,
)

__all__ = [
    "aggregates",
    "allocations",
    "inventories",
    "providers",
    "reshaper",
    "resource_classes",
    "traits",
]
