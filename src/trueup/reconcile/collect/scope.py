# SPDX-License-Identifier: Apache-2.0
"""Scope: which hosts and which trees of providers bear on what is said of some consumers. Pure.

The same rules say what a selection reads of a cloud, and what is kept of a picture of all of it.
"""

from collections.abc import Iterable

from trueup.reconcile.facts import Amounts, ComputeNode, Facts


def hosts_of(facts: Facts, uuids: Iterable[str]) -> frozenset[str]:
    """The hosts on which these instances are."""
    rows = (facts.alive[uuid] for uuid in facts.alive.keys() & frozenset(uuids))
    return frozenset(row.host for row in rows if row.host)


def hosts_of_moves(facts: Facts, uuids: Iterable[str]) -> frozenset[str]:
    """The hosts between which these instances, or the instances of these consumers, moved."""
    asked = frozenset(uuids)
    moves = (row for row in facts.migrations if row.instance in asked or row.uuid in asked)
    return frozenset(host for row in moves for host in (row.source_host, row.target_host) if host)


def nodes_of(facts: Facts, hosts: frozenset[str]) -> tuple[ComputeNode, ...]:
    """The compute nodes of these hosts."""
    return tuple(row for row in facts.compute_nodes if row.host in hosts)


def roots_of_nodes(facts: Facts, nodes: Iterable[ComputeNode]) -> frozenset[str]:
    """The roots of their trees, and of trees that are only called like them."""
    rows = tuple(nodes)
    uuids, names = {row.uuid for row in rows}, {row.node for row in rows}
    named = {row.root for name in names for row in facts.providers_by_name.get(name, ())}
    return frozenset(named | {facts.providers[u].root for u in uuids if u in facts.providers})


def roots_of_held(facts: Facts, held: Iterable[Amounts]) -> frozenset[str]:
    """The roots of all trees in which something is held; a pool may be a tree of its own."""
    uuids = {uuid for amounts in held for uuid in amounts}
    return frozenset(facts.providers[u].root for u in uuids & facts.providers.keys())
