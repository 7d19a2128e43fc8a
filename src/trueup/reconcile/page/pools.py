# SPDX-License-Identifier: Apache-2.0
"""The sharing providers that a host uses: pools of other trees, by a common aggregate. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trueup.reconcile.facts import Facts, Provider
from trueup.reconcile.page.split import CapacitySplit
from trueup.reconcile.verdicts import in_order


@dataclass(frozen=True, slots=True)
class SharedPool:
    """A sharing provider, as it is shown with a host.

    `splits` are of the whole pool, for all consumers; None: not all consumers were read. `held`
    is what the consumers of this host hold of it, by resource class. `tree` is the root of its own
    tree, empty where the page does not show that.
    """

    uuid: str
    name: str
    tree: str
    splits: tuple[CapacitySplit, ...] | None
    held: Mapping[str, int]


def shared_pools(
    root: Provider,
    consumers: Iterable[str],
    facts: Facts,
    splits: Mapping[str, tuple[CapacitySplit, ...]],
) -> tuple[SharedPool, ...]:
    """The pools that share with the tree of this root, by name.

    `consumers` are those of the host, `splits` those of the providers whose consumers were all
    read: of these trees the page shows all.
    """
    pools = sorted(facts.sharing_with.get(root.uuid, ()), key=lambda row: (row.name, row.uuid))
    known = tuple(consumers) if pools else ()
    return tuple(
        SharedPool(
            uuid=pool.uuid,
            name=pool.name,
            tree=pool.root if pool.root in splits else "",
            splits=splits.get(pool.uuid),
            held=_held_of_pool(pool.uuid, known, facts),
        )
        for pool in pools
    )


def _held_of_pool(pool: str, consumers: Iterable[str], facts: Facts) -> dict[str, int]:
    total: Counter[str] = Counter()
    for consumer in consumers:
        total.update(facts.consumers.get(consumer, {}).get(pool, {}))
    return in_order(total)
