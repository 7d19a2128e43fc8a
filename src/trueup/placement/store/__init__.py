# SPDX-License-Identifier: Apache-2.0
"""The rows. SQL and nothing else; upstream's schema."""

from trueup.placement.store import (
    aggregates,
    allocations,
    changes,
    consumers,
    filters,
    fingerprint,
    inventories,
    picture,
    providers,
    schema,
    traits,
    usages,
    vocabulary,
)

__all__ = [
    "aggregates",
    "allocations",
    "changes",
    "consumers",
    "filters",
    "fingerprint",
    "inventories",
    "picture",
    "providers",
    "schema",
    "traits",
    "usages",
    "vocabulary",
]
