# SPDX-License-Identifier: Apache-2.0
"""The rows of the ledger. SQL and nothing else; upstream's schema."""

from trueup.placement.store import schema
from trueup.placement.store.engine import changes, lock_rows
from trueup.placement.store.reads import (
    claims,
    filters,
    fingerprint,
    ledger_rows,
    of_provider,
    usages,
)
from trueup.placement.store.rows import (
    aggregates,
    allocations,
    class_and_trait_names,
    consumers,
    inventories,
    providers,
    traits,
)
