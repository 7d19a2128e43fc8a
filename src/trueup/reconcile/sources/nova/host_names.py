# SPDX-License-Identifier: Apache-2.0
"""Host names in rows of instances, moves and services, spelled as compute nodes spell them. Pure.

After a host was renamed to other letters, older rows keep the old name. Nova on MySQL finds the
compute node by either; so readers of such databases write one spelling, and no rule has to compare.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from trueup.reconcile.facts import (
    ComputeNode,
    ComputeService,
    Instance,
    Migration,
    as_compared,
)

# The host and the node that a row names.
Place = tuple[str | None, str | None]


class HostNames:
    """The hosts and nodes of the compute nodes of one cell whose database compares without case."""

    def __init__(self, places: Iterable[tuple[str, str]]) -> None:
        self._known = frozenset[Place](places)
        self._places: Mapping[tuple[str, str], Place] = {
            (as_compared(host or ""), as_compared(node or "")): (host, node)
            for host, node in self._known
        }

    def of_instances(self, rows: Iterable[Instance]) -> Iterator[Instance]:
        for row in rows:
            host, node = self._spelled(row.host, row.node)
            same = (host, node) == (row.host, row.node)
            yield row if same else replace(row, host=host, node=node)

    def of_migrations(self, rows: Iterable[Migration]) -> Iterator[Migration]:
        for row in rows:
            source = self._spelled(row.source_host, row.source_node)
            target = self._spelled(row.target_host, row.target_node)
            yield replace(
                row,
                source_host=source[0],
                source_node=source[1],
                target_host=target[0],
                target_node=target[1],
            )

    def _spelled(self, host: str | None, node: str | None) -> Place:
        if (host, node) in self._known:
            return host, node
        key = as_compared(host or ""), as_compared(node or "")
        return self._places.get(key, (host, node))


def services_as_nodes(
    services: Iterable[ComputeService], nodes: Iterable[ComputeNode]
) -> tuple[ComputeService, ...]:
    """The same services, with their hosts spelled as their compute nodes spell them."""
    living_last = sorted(nodes, key=lambda row: not row.deleted)
    known = {as_compared(row.host): row.host for row in living_last}
    return tuple(replace(row, host=known.get(as_compared(row.host), row.host)) for row in services)
