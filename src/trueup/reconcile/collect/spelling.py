# SPDX-License-Identifier: Apache-2.0
"""Host names that differ only in case, where Nova's database treats them as equal. Pure.

MySQL and MariaDB compare names without case unless a site chose another collation; PostgreSQL does
not. Spellings are unified here as the database compares them, so that no rule has to.
"""

from collections.abc import Iterable
from dataclasses import replace

from trueup.reconcile.collect.scope import spellings
from trueup.reconcile.facts import ComputeNode, HostAggregate, as_compared
from trueup.reconcile.sources.nova.contract import Registry


def as_nodes_spell(registry: Registry, nodes: Iterable[ComputeNode]) -> Registry:
    """The same registry, with the hosts spelled as their compute nodes spell them.

    SAFETY: only where Nova's own query finds one spelling by the other.
    """
    if not registry.folds_case:
        return registry
    known = spellings(nodes)

    def spelled(host: str) -> str:
        return known.get(as_compared(host), host)

    def with_members(one: HostAggregate) -> HostAggregate:
        return replace(one, hosts=tuple(dict.fromkeys(map(spelled, one.hosts))))

    return replace(
        registry,
        host_mappings=tuple(replace(row, host=spelled(row.host)) for row in registry.host_mappings),
        host_aggregates=tuple(map(with_members, registry.host_aggregates)),
    )
