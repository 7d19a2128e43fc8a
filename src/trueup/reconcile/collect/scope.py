# SPDX-License-Identifier: Apache-2.0
"""Scope: which hosts and trees of providers are needed to judge some consumers. Pure.

The same rules decide what a selection reads of a cloud, and what it keeps of a whole cloud's facts.
"""

from collections.abc import Iterable, Mapping

from trueup.reconcile.facts import (
    Amounts,
    ComputeNode,
    Facts,
    Instance,
    as_compared,
    grouped,
)


def alike(names: Iterable[str]) -> frozenset[str]:
    """Names of hosts as Nova on MySQL compares them."""
    return frozenset(map(as_compared, names))


def may_be_on(instance: Instance, hosts: frozenset[str], nodes: frozenset[str]) -> bool:
    """Whether an instance names one of these hosts, in any spelling; without a host, a node.

    `hosts` and `nodes` come from `alike`. SAFETY: nova-compute finds its instances by such a name,
    so it may run the guest.
    """
    if instance.host:
        return as_compared(instance.host) in hosts
    return bool(instance.node) and as_compared(instance.node or "") in nodes


def spellings(nodes: Iterable[ComputeNode]) -> Mapping[str, str]:
    """The spelling of each host in compute nodes, by its compared name; only where all agree."""
    every = grouped((as_compared(row.host), row.host) for row in nodes if row.host)
    return {name: hosts[0] for name, hosts in every.items() if len({*hosts}) == 1}


def hosts_of(facts: Facts, uuids: Iterable[str]) -> frozenset[str]:
    """The hosts on which these instances are."""
    rows = (facts.alive[uuid] for uuid in facts.alive.keys() & frozenset(uuids))
    return frozenset(row.host for row in rows if row.host)


def hosts_of_moves(facts: Facts, uuids: Iterable[str]) -> frozenset[str]:
    """The sources and targets of migrations of these instances, or with these uuids."""
    asked = frozenset(uuids)
    moves = (row for row in facts.migrations if row.instance in asked or row.uuid in asked)
    return frozenset(host for row in moves for host in (row.source_host, row.target_host) if host)


def hosts_left(facts: Facts, uuids: Iterable[str]) -> frozenset[str]:
    """The last hosts of the deleted ones of these instances, and hosts where they hold resources.

    SAFETY: a hypervisor there may still run the guest of an instance that was deleted by hand.
    """
    deleted = [facts.deleted[uuid] for uuid in facts.deleted.keys() & frozenset(uuids)]
    roots = {root for row in deleted for root in facts.roots_of(facts.consumers.get(row.uuid, {}))}
    held = {node.host for root in roots for node in facts.nodes_by_uuid.get(root, ())}
    return frozenset(held | {row.host for row in deleted if row.host})


def with_partners(facts: Facts, uuids: Iterable[str]) -> frozenset[str]:
    """These consumers with their partners: an instance and its migrations are partners.

    SAFETY: an instance is not judged without the allocations of its migrations.
    """
    moves = [row for row in facts.migrations if row.uuid in facts.consumers]
    known = frozenset(uuids)
    while True:
        pairs = ({row.uuid, row.instance} for row in moves)
        more = known.union(*(pair for pair in pairs if pair & known))
        if more == known:
            return known
        known = more


def holds_nothing(facts: Facts, uuids: Iterable[str]) -> bool:
    """Whether one of these instances has no allocations: unlisted usage may be its own."""
    return bool((frozenset(uuids) & facts.alive.keys()) - facts.consumers.keys())


def nodes_of(facts: Facts, hosts: frozenset[str]) -> tuple[ComputeNode, ...]:
    """The compute nodes of these hosts."""
    return tuple(row for row in facts.compute_nodes if row.host in hosts)


def roots_of_nodes(facts: Facts, nodes: Iterable[ComputeNode]) -> frozenset[str]:
    """The roots of the trees of these nodes, and of providers that only share a node's name.

    Where a node's root is gone, its children still name it, so its uuid is one of the roots.
    """
    rows = tuple(nodes)
    uuids, names = {row.uuid for row in rows}, {row.node for row in rows}
    named = {row.root for name in names for row in facts.providers_by_name.get(name, ())}
    roots = {facts.providers[u].root for u in uuids if u in facts.providers}
    return frozenset(named | roots | (uuids & facts.trees.keys()))


def roots_of_held(facts: Facts, held: Iterable[Amounts]) -> frozenset[str]:
    """The roots of all trees with one of these allocations, including sharing providers."""
    uuids = {uuid for amounts in held for uuid in amounts}
    return frozenset(facts.providers[u].root for u in uuids & facts.providers.keys())


def roots_connected(facts: Facts, roots: Iterable[str]) -> frozenset[str]:
    """These roots, and the roots of trees that a parent or a child links to theirs.

    Such trees are broken, which shows only when they are read together.
    """
    links = facts.once(_links)
    known, asked = frozenset(roots), frozenset[str]()
    while unasked := known - asked:
        asked = known
        known |= {other for root in unasked for other in links.get(root, ())}
    return known


def _links(facts: Facts) -> dict[str, tuple[str, ...]]:
    """For each root, the roots of other trees that a parent or a child links to its tree."""
    rows = [row for row in facts.providers.values() if row.parent in facts.providers]
    pairs = {(row.root, facts.providers[row.parent or ""].root) for row in rows}
    apart = [(root, other) for root, other in sorted(pairs) if root != other]
    return grouped(link for root, other in apart for link in ((root, other), (other, root)))
