# SPDX-License-Identifier: Apache-2.0
"""Checks before a compute service is retired, and reasons to wait. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trueup.reconcile.audit import Observation
from trueup.reconcile.collect.scope import alike, may_be_on
from trueup.reconcile.facts import (
    OWNER_TRAIT,
    ComputeNode,
    ComputeService,
    Facts,
    Instance,
    Migration,
    Provider,
)
from trueup.reconcile.plan import Plan
from trueup.reconcile.reasons import Reason, because, together
from trueup.reconcile.rules.advice import cannot_end, move_ended, unconfirmed_ended, way_off
from trueup.reconcile.runbooks.host_checks import evidence, one_machine, waiting, way, whole
from trueup.reconcile.runbooks.host_reading import HostReading
from trueup.reconcile.runbooks.preflight import Check, Outlook
from trueup.reconcile.runbooks.releases import Releases
from trueup.reconcile.verdicts import amounts_in_words
from trueup.reconcile.wording import counted

FINE, PLANNED, BLOCKS = Outlook.FINE, Outlook.PLANNED, Outlook.BLOCKS
# SAFETY: a running agent reports its providers again, below a deleted root.
_ASK_NEUTRON = (
    "make Neutron known ([neutron] in nova.conf, or a cloud of clouds.yaml); or if no network "
    "agent runs on the host any more, say so: --agents-gone"
)


@dataclass(frozen=True, slots=True)
class Retired:
    """The parts of a host to delete. `former` are its deleted nodes; `roots` include theirs."""

    host: str
    services: tuple[ComputeService, ...]
    nodes: tuple[ComputeNode, ...]
    former: tuple[ComputeNode, ...]
    roots: tuple[Provider, ...]

    def is_up(self, facts: Facts) -> bool:
        """Whether its nova-compute is up."""
        return any(service.is_up(facts.taken_at) for service in self.services)

    def without_provider(self, facts: Facts) -> tuple[ComputeNode, ...]:
        """Its compute nodes whose uuid no provider has."""
        return tuple(row for row in self.nodes if row.uuid not in facts.providers)


def checks(
    place: Retired,
    second: Observation,
    reading: HostReading,
    holders: Sequence[str],
    releases: Releases,
    plan: Plan,
) -> tuple[Check, ...]:
    """All checks, in the order in which an operator deals with them."""
    facts = second.facts
    on_host = _on_host(place, facts)
    open_moves = tuple(row for row in reading.moves if row.under_way)
    moving = {uuid for row in open_moves for uuid in (row.uuid, row.instance)}
    claimed = moving | {row.uuid for row in on_host}
    others = [holder for holder in holders if holder not in claimed]
    return (
        *evidence(facts),
        *one_machine(place.host, facts),
        *_service(place, facts),
        *(_instance(row, place, facts) for row in on_host),
        *(_move(row, place, facts) for row in open_moves),
        *(_consumer(holder, place, second, releases, plan) for holder in others),
        *whole(place.roots, facts),
        *_providers(place, reading, facts),
        *_children(place, reading, facts),
        *_aggregates(place, facts),
    )


def _service(place: Retired, facts: Facts) -> Iterator[Check]:
    if not place.services and place.nodes:
        yield Check(
            "service", place.host, "the host has none, but a compute node", BLOCKS,
            f"start nova-compute on {place.host}, which registers itself, stop it, and run this "
            "again: Nova deletes a compute node only with its service",
        )  # fmt: skip
        return
    if not place.services:
        found = "the host has none: it was deleted before"
        yield Check("service", place.host, found, FINE, "only what it left behind is deleted")
        return
    if len(place.services) > 1:
        cells = " and ".join(facts.cells.get(row.cell, row.cell) for row in place.services)
        yield Check(
            "service", place.host, f"{cells} each have a service of this name", BLOCKS,
            "Nova maps a host to one cell: remove the wrong one by its uuid "
            "(`openstack compute service delete UUID`)",
        )  # fmt: skip
        return
    [service] = place.services
    state = "disabled" if service.disabled else "enabled"
    if service.is_up(facts.taken_at):
        yield Check(
            "service", place.host, f"{state}, and up", BLOCKS,
            f"run `openstack compute service set --disable {place.host} nova-compute`, and stop "
            "nova-compute on it: while it runs, it makes its records again",
        )  # fmt: skip
        return
    word = "forced down" if service.forced_down else "down"
    yield Check("service", place.host, f"{state}, and {word}", PLANNED, "deleted last")


def _on_host(place: Retired, facts: Facts) -> tuple[Instance, ...]:
    living = {row.node for row in facts.compute_nodes} - {row.node for row in place.nodes}
    nodes = alike({row.node for row in (*place.nodes, *place.former)} - living)
    every = (row for row in facts.instances if not row.deleted)
    rows = (row for row in every if may_be_on(row, alike([place.host]), nodes))
    return tuple(sorted(rows, key=lambda row: (row.name, row.uuid)))


def _instance(row: Instance, place: Retired, facts: Facts) -> Check:
    if row.host != place.host:
        host = f"host '{row.host}'" if row.host else "no host"
        return Check(
            "instance", row.uuid,
            f"{row.name} may be on the host: Nova names {host}, node '{row.node or ''}'", BLOCKS,
            f"find out where its guest runs, and correct host and node of its row in the database "
            f"of {facts.cells.get(row.cell, row.cell)}",
        )  # fmt: skip
    found = f"{row.name} is on the host: {row.vm_state}" + (
        f", {row.task_state}" if row.task_state else ""
    )
    return Check("instance", row.uuid, found, BLOCKS, way_off(row, facts))


def _move(row: Migration, place: Retired, facts: Facts) -> Check:
    """A migration that is not over. Nova ends a resize only while the nova-compute of its source or
    target runs. If that host is dead, the operator ends the resize."""
    if row.status != "finished":
        instance = facts.alive.get(row.instance)
        endless = instance is not None and cannot_end(instance, facts)
        then = (
            because("ended-by", endless, ends=move_ended(row, facts)) if endless else waiting(row)
        )
        return Check("migration", row.uuid, way(row), BLOCKS, then)
    leaves = row.source_host == place.host
    command = f"`openstack server resize {'confirm' if leaves else 'revert'} {row.instance}`"
    if place.is_up(facts):
        then = f"run {command} while nova-compute on {place.host} is up: it cleans up there"
        return Check("migration", row.uuid, way(row), BLOCKS, then)
    registers = "" if place.services else ", which registers itself,"
    then = unconfirmed_ended(row, place.host, leaves, facts, registers)
    return Check("migration", row.uuid, way(row), BLOCKS, then)


def _consumer(
    consumer: str, place: Retired, second: Observation, releases: Releases, plan: Plan
) -> Check:
    """A consumer that holds resources of the host and is not on it."""
    facts = second.facts
    roots = {row.uuid for row in place.roots}
    here = {
        uuid: held
        for uuid, held in facts.consumers[consumer].items()
        if uuid in facts.providers and facts.providers[uuid].root in roots
    }
    found = f"holds {amounts_in_words(here, facts.provider_names)}"
    if step := releases.by_consumer.get(consumer):
        defects = ", ".join(sorted({reason.partition(":")[0] for reason in step.because}))
        return Check("consumer", consumer, f"{found}: {defects}", PLANNED, "released")
    return Check("consumer", consumer, found, BLOCKS, _why_held(consumer, second, plan))


def _why_held(consumer: str, second: Observation, plan: Plan) -> Reason:
    """Why no step releases a consumer's resources, and what the operator does."""
    for declined in plan.declined:
        if consumer in (declined.finding.subject.uuid, *declined.finding.consumers):
            return declined.reason
    audit = second.audit
    reasons = [row.reason for row in audit.unchecked if row.subject.uuid == consumer]
    reasons += [row.reason for row in audit.left_alone if row.subject.uuid == consumer]
    if any(consumer in (row.subject.uuid, *row.consumers) for row in audit.findings):
        reasons.append(because("seen-once"))
    why = together(reasons) or because("why-unknown")
    if consumer in second.facts.alive:
        return because("explain-instance", why, instance=consumer)
    return because("release-or-acknowledge", why)


def _tree(place: Retired, facts: Facts) -> Iterator[Provider]:
    return (row for root in place.roots for row in facts.trees.get(root.uuid, ()))


def _providers(place: Retired, reading: HostReading, facts: Facts) -> Iterator[Check]:
    if place.roots:
        names = sorted(row.name for row in place.roots)
        found = "of its compute node" if len(names) == 1 else "of its compute nodes"
        subject = names[0] if len(names) == 1 else counted(len(names), "provider")
        then = "Nova deletes it with the service" if place.services else "deleted"
        yield Check("provider", subject, found, PLANNED, then)
        gone = [row.name for row in _tree(place, facts) if row.uuid not in reading.contents]
        for name in gone:
            then = "run this again"
            yield Check("provider", name, "it was deleted while it was read", BLOCKS, then)
    for node in place.without_provider(facts):
        if facts.providers_by_name.get(node.node):
            found = f"its compute node has uuid {node.uuid}, the provider of its name another uuid"
            then = f"run `trueup rekey {place.host}` first"
            yield Check("provider", node.node, found, BLOCKS, then)
        else:
            found = f"its compute node {node.uuid} has no provider, and Nova fails without one"
            yield Check("provider", node.node, found, PLANNED, "made, empty, before the service")


def _children(place: Retired, reading: HostReading, facts: Facts) -> Iterator[Check]:
    agents = [agent for agent in reading.agents or () if agent.alive]
    for root in place.roots:
        for row in facts.trees.get(root.uuid, ()):
            if row is root or row.uuid not in reading.contents:
                continue
            if OWNER_TRAIT in reading.contents[row.uuid].traits:
                yield Check("child provider", row.name, "it is Nova's", PLANNED, "deleted")
                continue
            found = "it is not known to be Nova's"
            if agents:
                words = ", ".join(f"{agent.kind} {agent.id}" for agent in agents)
                then = "stop them, and delete each: `openstack network agent delete ID`"
                yield Check("child provider", row.name, f"{found}; {words} alive", BLOCKS, then)
                continue
            if reading.agents is None and not reading.agents_gone:
                found = f"{found}; Neutron is not asked"
                yield Check("child provider", row.name, found, BLOCKS, _ASK_NEUTRON)
                continue
            asked = "no network agent is alive"
            if reading.agents is None:
                asked = "you say that no network agent runs on the host"
            yield Check("child provider", row.name, f"{found}; {asked}", PLANNED, "deleted")


def _aggregates(place: Retired, facts: Facts) -> Iterator[Check]:
    for aggregate in facts.nova_aggregates_of(place.host):
        then = "Nova takes the host out of it"
        if not place.services:
            then = "it stays: Nova takes out only hosts that have a compute service"
        outlook = PLANNED if place.services else FINE
        yield Check("aggregate", aggregate.name, f"{place.host} is in it", outlook, then)
