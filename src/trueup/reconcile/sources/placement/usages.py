# SPDX-License-Identifier: Apache-2.0
"""Usages over Placement's API: where a consumer has no row, they exceed the listed allocations.

Usages are summed from allocations alone; a listing of allocations leaves out those whose consumer
has no row (Launchpad 1780799).
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from trueup.reconcile.facts import Amounts, LedgerFault
from trueup.reconcile.sources.placement import documents

UNLISTED = "usage that no listed allocation explains"
# How often both are read again, when an allocation was written between the two requests.
_ATTEMPTS = 3


def unlisted(
    provider: str, found: Callable[[str], Any], allocations: Any = None
) -> tuple[LedgerFault, ...]:
    """The usage of a provider that is in no allocation that Placement lists.

    `found` returns the document at a path; `allocations` is the provider's document, if it was read
    already. While allocations of the provider are written all the time, the result is empty.
    """
    path = f"/resource_providers/{provider}"
    for _ in range(_ATTEMPTS):
        listed = allocations or found(f"{path}/allocations")
        used = found(f"{path}/usages")
        if listed is None or used is None:
            return ()
        # SAFETY: every new allocation gives its provider a new generation. A deletion does not, but
        # it makes usages smaller, and they are read last.
        if documents.generation(listed) == documents.generation(used):
            return _faults(provider, documents.usages(used), documents.allocations(listed))
        allocations = None
    return ()


def _faults(provider: str, used: dict[str, int], by_consumer: Amounts) -> tuple[LedgerFault, ...]:
    listed = Counter[str]()
    for held in by_consumer.values():
        listed.update(held)
    return tuple(
        LedgerFault("consumerless", provider, UNLISTED, name, amount - listed[name])
        for name, amount in sorted(used.items())
        if amount > listed[name]
    )
