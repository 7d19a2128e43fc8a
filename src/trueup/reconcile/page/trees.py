# SPDX-License-Identifier: Apache-2.0
"""The tree of a page: cell → compute node → its providers, with who holds what there. Pure."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.audit import Audit
from trueup.reconcile.facts import ComputeNode, Facts, Provider, grouped
from trueup.reconcile.page.pools import SharedPool, shared_pools
from trueup.reconcile.page.split import CapacitySplit, summed
from trueup.reconcile.report.effects import FindingEffect
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.wording import counted

Splits = Mapping[str, tuple[CapacitySplit, ...]]


@dataclass(frozen=True, slots=True)
class Branch:
    """A provider and those below it."""

    uuid: str
    name: str
    splits: tuple[CapacitySplit, ...]
    children: tuple["Branch", ...] = ()


@dataclass(frozen=True, slots=True)
class Resident:
    """An instance on a host, or another consumer that holds something there; `note`: why it is odd.

    `here`: Nova has it on this host. `name` and `project` are empty where they are not known.
    """

    uuid: str
    name: str = ""
    project: str = ""
    note: str = ""
    here: bool = False


@dataclass(frozen=True, slots=True)
class HostTree:
    """A compute node with its provider tree, or a tree that no compute node has (`host` is empty).

    `findings` are the ids of those that are about it, `unchecked` why it was not judged. `pools`
    share with it; `totals` leave them out, since other hosts have them too. `shares_with` is the
    number of other trees that providers of this one share with, and `on_hosts` how many instances
    hold something of a pool and are residents of a host that it shares with, not of its own tree.
    """

    name: str
    host: str
    node: str
    branch: Branch | None
    totals: tuple[CapacitySplit, ...]
    residents: tuple[Resident, ...]
    findings: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    pools: tuple[SharedPool, ...] = ()
    shares_with: int = 0
    on_hosts: int = 0

    @property
    def healthy(self) -> bool:
        return not self.findings and not self.unchecked and self.branch is not None

    @property
    def compact(self) -> bool:
        """Whether one line shows the whole host.

        PERF: a browser takes seconds for the bars of 10,000 such hosts.
        """
        plain = self.branch is not None and all(split.plain for split in self.totals)
        return plain and self.healthy and not (self.branch and self.branch.children)

    @property
    def occupants(self) -> str:
        """How many instances are on it, or how many consumers hold something of it."""
        if not self.host:
            return counted(len(self.residents) + self.on_hosts, "consumer")
        return counted(sum(resident.here for resident in self.residents), "instance")


@dataclass(frozen=True, slots=True)
class CellTree:
    """A cell with its compute nodes; `silent` says why it is not known, `name` is a heading."""

    name: str
    silent: str
    hosts: tuple[HostTree, ...]
    totals: tuple[CapacitySplit, ...]

    @property
    def troubled(self) -> int:
        """How many of its hosts have findings, or were not judged."""
        return sum(not host.healthy for host in self.hosts)


@dataclass(frozen=True, slots=True)
class Ground:
    """What trees are made from. `splits` are of the providers whose consumers were all read."""

    facts: Facts
    audit: Audit
    effects: Mapping[str, FindingEffect]
    splits: Splits


def cell_trees(ground: Ground) -> tuple[CellTree, ...]:
    """Every cell with its compute nodes, those with findings first."""
    facts = ground.facts
    concerns = _Concerns(ground)
    nodes = grouped((row.cell, row) for row in facts.compute_nodes if _is_shown(row, facts))
    on_hosts = grouped((row.host or "", row.uuid) for row in facts.alive.values())
    silent = {row.source: row.reason for row in facts.coverage.missing}
    return tuple(
        _cell(name, silent.get(name, ""), (
            _host(node, on_hosts.get(node.host, ()), concerns) for node in nodes.get(uuid, ())
        ))
        for uuid, name in sorted(facts.cells.items(), key=lambda pair: pair[1])
    )  # fmt: skip


def other_trees(ground: Ground) -> tuple[HostTree, ...]:
    """The trees that no compute node has: sharing pools, other services' providers, orphans."""
    facts = ground.facts
    concerns = _Concerns(ground)
    roots = (row for row in facts.providers.values() if row.parent is None)
    return tuple(
        _host_tree(root.name, None, root, (), concerns)
        for root in sorted(roots, key=lambda row: (row.name, row.uuid))
        if root.uuid not in facts.nodes_by_uuid and root.uuid in ground.splits
    )


class _Concerns:
    """What an audit says about each tree."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        facts = ground.facts
        roots = {uuid: row.root for uuid, row in facts.providers.items()}
        pairs: list[tuple[str, str]] = []
        for row in ground.audit.every_finding:
            about = {roots.get(count.uuid) for count in ground.effects[row.id].capacity}
            about |= {roots.get(row.subject.uuid), row.subject.uuid}
            pairs += ((name, row.id) for name in about if name)
        self._findings = grouped(pairs)
        self._unchecked = grouped(
            (row.subject.uuid, in_words(row.reason)) for row in ground.audit.unchecked
        )
        self.moves = {row.uuid: row for row in facts.migrations}

    def findings(self, *names: str) -> tuple[str, ...]:
        found = (
            finding for name in dict.fromkeys(names) for finding in self._findings.get(name, ())
        )
        return tuple(dict.fromkeys(found))

    def unchecked(self, *names: str) -> tuple[str, ...]:
        found = (
            reason for name in dict.fromkeys(names) for reason in self._unchecked.get(name, ())
        )
        return tuple(dict.fromkeys(found))


def _is_shown(node: ComputeNode, facts: Facts) -> bool:
    """Whether the page shows a host: in a selection, only if its consumers were all read."""
    return facts.judges(node.uuid)


def _cell(name: str, silent: str, hosts: Iterable[HostTree]) -> CellTree:
    ordered = sorted(hosts, key=lambda row: (row.healthy, row.name))
    totals = summed(split for host in ordered for split in host.totals)
    return CellTree(name, silent, tuple(ordered), totals)


def _host(node: ComputeNode, alive: Iterable[str], concerns: _Concerns) -> HostTree:
    facts = concerns.ground.facts
    alone = len(facts.nodes_by_host[node.cell, node.host]) == 1
    here = [uuid for uuid in alive if _is_on(node, uuid, facts)]
    name = node.host if alone else node.node
    return _host_tree(name, node, facts.providers.get(node.uuid), here, concerns)


def _is_on(node: ComputeNode, uuid: str, facts: Facts) -> bool:
    row = facts.alive[uuid]
    return (row.cell, row.host, row.node) == (node.cell, node.host, node.node)


def _host_tree(
    name: str,
    node: ComputeNode | None,
    root: Provider | None,
    here: Iterable[str],
    concerns: _Concerns,
) -> HostTree:
    facts, splits = concerns.ground.facts, concerns.ground.splits
    tree = facts.trees.get(root.uuid, ()) if root else ()
    of_node = (node.host, node.uuid) if node else ()
    about = (*of_node, *(row.uuid for row in tree))
    shared = {uuid for row in tree for uuid in row.shares_with if uuid != row.root}
    every = {uuid for row in tree for uuid in facts.consumers_of.get(row.uuid, ())}
    # PERF: instances that stand with their hosts are half of a page of 10,000 hosts with pools.
    elsewhere = set() if node else {uuid for uuid in every if _stands_with(uuid, shared, facts)}
    residents = tuple(
        _residents(here, frozenset(every - elsewhere), node.host if node else "", concerns)
    )
    on_it = (row.uuid for row in residents)
    return HostTree(
        name=name,
        host=node.host if node else "",
        node=node.node if node else "",
        branch=_branch(root, tree, splits) if root else None,
        totals=summed(split for row in tree for split in splits.get(row.uuid, ())),
        residents=residents,
        findings=concerns.findings(*about),
        unchecked=concerns.unchecked(*about),
        pools=shared_pools(root, on_it, facts, splits) if root else (),
        shares_with=len(shared),
        on_hosts=len(elsewhere),
    )


def _branch(provider: Provider, tree: Iterable[Provider], splits: Splits) -> Branch:
    below = grouped((row.parent, row) for row in tree)

    def made(row: Provider) -> Branch:
        children = sorted(below.get(row.uuid, ()), key=lambda child: (child.name, child.uuid))
        return Branch(row.uuid, row.name, splits.get(row.uuid, ()), tuple(map(made, children)))

    return made(provider)


def _stands_with(consumer: str, shared: Container[str], facts: Facts) -> bool:
    """Whether a consumer is an instance on a host that the page shows, with one of these roots."""
    row = facts.alive.get(consumer)
    if row is None or row.host is None or row.node is None:
        return False
    nodes = facts.nodes_by_place.get((row.cell, row.host, row.node), ())
    return any(node.uuid in shared and _is_shown(node, facts) for node in nodes)


def _residents(
    here: Iterable[str], holders: frozenset[str], host: str, concerns: _Concerns
) -> Iterator[Resident]:
    """Who is on a host, and who holds something of its tree, by name."""
    found = [_resident(uuid, uuid in holders, host, concerns) for uuid in {*here, *holders}]
    yield from sorted(found, key=lambda row: (row.name, row.uuid))


def _resident(uuid: str, holds: bool, host: str, concerns: _Concerns) -> Resident:
    facts = concerns.ground.facts
    if (row := facts.alive.get(uuid)) is not None:
        here = bool(host) and row.host == host
        note = "" if holds else "holds nothing here"
        if host and not here:
            note = f"Nova has it on {row.host}" if row.host else "Nova has it on no host"
        return Resident(uuid, row.name, row.project, note, here)
    if (row := facts.deleted.get(uuid)) is not None:
        return Resident(uuid, row.name, row.project, "deleted")
    if (move := concerns.moves.get(uuid)) is not None:
        return Resident(uuid, note=f"{move.kind} of {move.instance}")
    owner = facts.owners.get(uuid)
    return Resident(uuid, project=owner.project if owner else "", note="no instance that is known")
