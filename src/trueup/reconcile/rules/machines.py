# SPDX-License-Identifier: Apache-2.0
"""Machines: two hosts of Nova that are one machine, as after `host` in its nova.conf changed. Pure.

SAFETY: nova-compute of the old name is down then, and all its guests run. Nothing may be evacuated
from a machine that answers under any name.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import ComputeNode, Facts, grouped
from trueup.reconcile.reasons import Reason, because, together
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.verdicts import Subject, Unchecked


def other_names(host: str, facts: Facts) -> tuple[str, ...]:
    """The other hosts that have compute nodes, and are the same machine as this one."""
    return facts.once(_names).get(host, ())


def is_same(host: str, other: str | None, facts: Facts) -> bool:
    """Whether these are one host, or two names of one machine."""
    return host == other or (other or "") in other_names(host, facts)


def answers(host: str, cell: str, facts: Facts) -> str:
    """Why the machine of a host may still run, though its nova-compute is down; or ""."""
    service = facts.service_of(cell, host)
    if service and service.forced_down and service.reports(facts.taken_at):
        return f"{host} is forced down, and nova-compute on it still reports"
    up = {row.host for row in facts.services if row.is_up(facts.taken_at)}
    for name in other_names(host, facts):
        if name in up:
            return f"{host} is the same machine as {name}, which is up"
    if facts.hypervisor_answered(host):
        return f"the hypervisor of {host} answers"
    return ""


def way_back(host: str, facts: Facts) -> Reason | None:
    """How a machine gets one name again; None if it has only one."""
    names = sorted({host, *other_names(host, facts)})
    if len(names) == 1:
        return None
    old = _first_name(names, facts)
    return together(_without(name, old, facts) for name in names if name != old)


def doubled(facts: Facts) -> Iterator[Unchecked]:
    """Each machine that is two hosts of Nova, with the proof and the way back."""
    for host in sorted(facts.once(_names)):
        names = sorted({host, *other_names(host, facts)})
        if host == names[0] and _in_scope(names, facts):
            old = _first_name(names, facts)
            others = tuple(name for name in names if name != old)
            proof = _proof(old, next(name for name in names if name != old), facts)
            yield Unchecked(
                Subject("host", old),
                old,
                because("two-names-one-machine", proof, way_back(host, facts), others=others),
            )


def _without(name: str, old: str, facts: Facts) -> Reason:
    count = sum(1 for row in facts.alive.values() if row.host == name)
    return because(
        "move-away-then-rename" if count else "rename-back", name=name, old=old, instances=count
    )


def _first_name(names: list[str], facts: Facts) -> str:
    """The machine's earlier name, by its node's provider, its instances, or the older node."""
    nodes = {row.host: row for row in _nodes(facts)}
    on = [row.host for row in facts.alive.values()]

    def rank(name: str) -> tuple[bool, bool, str]:
        node = nodes[name]
        made = node.created_at.isoformat() if node.created_at else ""
        return node.uuid not in facts.providers, name not in on, made

    return min(names, key=rank)


def _in_scope(names: list[str], facts: Facts) -> bool:
    return facts.hosts_in_scope is None or bool(facts.hosts_in_scope & {*names})


def _proof(host: str, other: str, facts: Facts) -> Reason:
    nodes = {row.host: row for row in _nodes(facts)}
    first, second = nodes[host], nodes[other]
    if first.uuid and first.uuid == second.uuid:
        return because("same-node-uuid", uuid=first.uuid)
    return because(
        "same-address" if first.address else "same-domains", node=first.node, address=first.address
    )


def _names(facts: Facts) -> dict[str, tuple[str, ...]]:
    """The other names of each machine that has several."""
    by_key = grouped((key, row.host) for row in _nodes(facts) for key in _keys(row, facts))
    pairs = (
        (host, other)
        for hosts in by_key.values()
        for host in hosts
        for other in hosts
        if host.casefold() != other.casefold()
    )
    return {host: tuple(sorted({*others})) for host, others in grouped(pairs).items()}


def _nodes(facts: Facts) -> Iterator[ComputeNode]:
    """The nodes that are machines of their own, alive; a bare metal node goes from host to host."""
    return (row for row in facts.compute_nodes if row.host and row.hypervisor.lower() != IRONIC)


def _keys(node: ComputeNode, facts: Facts) -> Iterator[tuple[str, str]]:
    """What two nodes of one machine have in common.

    An address alone may belong to a balancer, and two machines may have one name. The same guests
    show one hypervisor, unless there is only one guest, which may be on both.
    """
    if node.uuid:
        yield "uuid", node.uuid
    name = node.node.casefold().partition(".")[0]
    if not name:
        return
    if node.address:
        yield f"address {node.address}", name
    elif (domains := facts.once(_domains_by_host).get(node.host, ())) and len(domains) > 1:
        yield f"domains {sorted(domains)}", name


def _domains_by_host(facts: Facts) -> dict[str, tuple[str, ...]]:
    return grouped((row.host, row.uuid) for row in facts.domains)
