# SPDX-License-Identifier: Apache-2.0
"""The story of an instance, and of any other consumer."""

from collections.abc import Iterator

from trueup.reconcile.audit import Observation
from trueup.reconcile.expected import Known, expected, open_reason
from trueup.reconcile.expected.parts import ExpectedPart
from trueup.reconcile.facts import LIBVIRT, Facts, Flavor, Instance, InstanceRecord, Migration
from trueup.reconcile.report.instance_details import given
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.story import (
    Section,
    Story,
    amounts_or_nothing,
    at,
    concern,
    make_story,
    silent,
)
from trueup.reconcile.rules.claims import OnHost, claim_of
from trueup.reconcile.verdicts import Subject, plain_words


def consumer_story(uuid: str, seen: Observation) -> Story:
    """The story of the consumer with this uuid; for a migration, the story of its instance."""
    facts = seen.facts
    if uuid in facts.instance_rows:
        return instance_story(uuid, seen)
    move = next((row for row in facts.migrations if row.uuid == uuid), None)
    about = concern(seen, {uuid, move.instance} if move else {uuid})
    held = amounts_or_nothing(facts.consumers.get(uuid, {}), facts)
    owner = f"It is the consumer of a {move.kind} of instance {move.instance}." if move else ""
    known = [owner] if move else ["No cell that answered has an instance with this uuid."]
    if uuid in facts.builds:
        known.append("It has a build request: it has not reached its cell yet.")
    known += _mapping(uuid, facts)
    sections = [
        Section("Nova", (*known, *silent(facts))),
        Section("Ledger", (f"It holds {held}.", *_owner(uuid, facts))),
    ]
    if move:
        sections += _instance_sections(facts.record(move.instance), facts)
    return make_story(Subject("consumer", uuid), uuid, about, sections)


def instance_story(uuid: str, seen: Observation) -> Story:
    """The story of an instance, alive or deleted."""
    facts = seen.facts
    record = facts.record(uuid)
    row = facts.alive.get(uuid) or facts.deleted[uuid]
    about = concern(seen, {uuid, *record.moves})
    return make_story(Subject("instance", uuid), row.name, about, _instance_sections(record, facts))


def _instance_sections(record: InstanceRecord, facts: Facts) -> list[Section]:
    alive = facts.alive.get(record.uuid)
    return [
        Section("Nova says", tuple(_nova(record, facts))),
        Section("Moves", tuple(_move(row) for row in record.migrations)),
        Section("The ledger holds", tuple(_ledger(record, facts))),
        Section("It should hold", tuple(_should_hold(record, facts))),
        Section("It was given", tuple(given(alive, facts)) if alive else ()),
        Section("The hypervisor says", tuple(_hypervisors(record, facts))),
    ]


def _nova(record: InstanceRecord, facts: Facts) -> Iterator[str]:
    for row in record.rows:
        yield _row(row, facts)
    if not record.rows:
        yield "No cell that answered has it."
    yield from _mapping(record.uuid, facts)
    if record.uuid in facts.builds:
        yield "It has a build request: it has not reached its cell yet."
    yield from silent(facts)


def _mapping(uuid: str, facts: Facts) -> Iterator[str]:
    mapping = facts.mappings.get(uuid)
    if mapping is not None:
        cell = facts.cells.get(mapping.cell or "", "no cell")
        queued = ", and it is queued for deletion" if mapping.queued_for_delete else ""
        yield f"Its instance mapping names {cell}{queued}."


def _row(row: Instance, facts: Facts) -> str:
    cell = facts.cells.get(row.cell, row.cell)
    if row.deleted:
        archived = ", and archived" if row.archived else ""
        return f"{cell} has {row.name} as deleted{at(row.deleted_at)}{archived}, on {_where(row)}."
    task = f"task state {row.task_state}" if row.task_state else "no task"
    hidden = ", hidden" if row.hidden else ""
    return (
        f"{cell} has {row.name} as {row.vm_state}, {task}{hidden}, on {_where(row)}, "
        f"changed last{at(row.updated_at) or ' at a time that is not known'}."
    )


def _where(row: Instance) -> str:
    if row.host is None:
        return "no host"
    return f"host {row.host}" + (f", node {row.node}" if row.node != row.host else "")


def _move(row: Migration) -> str:
    ended = "it is under way" if row.under_way else "it is over"
    target = f" to {row.target_host}" if row.target_host else ""
    article = "an" if row.kind[:1] in "aeiou" else "a"
    what = f"{article} {row.kind} from {row.source_host}{target}"
    return f"The status of {what} is {row.status}{at(row.updated_at)}: {ended}."


def _ledger(record: InstanceRecord, facts: Facts) -> Iterator[str]:
    yield f"It holds {amounts_or_nothing(record.own, facts)}."
    for uuid, amounts in record.moves.items():
        move = record.migration(uuid)
        held = amounts_or_nothing(amounts, facts)
        yield f"Its {move.kind}, whose status is {move.status}, holds {held} (consumer {uuid})."
    for written in record.misspelled:
        yield f"Placement has a second consumer with its uuid, written {written}."
    yield from _owner(record.uuid, facts)


def _owner(uuid: str, facts: Facts) -> Iterator[str]:
    holding = facts.holdings.get(uuid)
    if holding and holding.allocations:
        owner = holding.allocations
        yield f"The ledger counts it for project {owner.project}, user {owner.user}."


def _should_hold(record: InstanceRecord, facts: Facts) -> Iterator[str]:
    instance = facts.alive.get(record.uuid)
    if instance is None:
        yield "Nothing: an instance that is deleted holds nothing."
        return
    if instance.flavor is not None:
        yield _flavor(instance.flavor, instance)
    claim = claim_of(record.uuid, facts)
    wanted = (claim.wanted,) if isinstance(claim, OnHost) else expected(instance, facts)
    for expectation in wanted:
        whose = (
            ""
            if expectation.consumer == record.uuid
            else f" (consumer {expectation.consumer}, its migration)"
        )
        for part in expectation.parts:
            yield _part(part, facts)
        yield f"In all: {amounts_or_nothing(expectation.known, facts)}{whose}."
    if not wanted:
        yield "Nothing: it is on no host."


def _flavor(flavor: Flavor, instance: Instance) -> str:
    root = {
        True: "0 (its root disk is a volume)",
        False: str(flavor.root_gb),
        None: f"{flavor.root_gb} (unless its root disk is a volume: Nova's API does not show it)",
    }[instance.volume_backed]
    swap = (
        f" + {-(-flavor.swap_mb // 1024)} (swap of {flavor.swap_mb} MB)" if flavor.swap_mb else ""
    )
    return (
        f"Its flavor {flavor.name} has {flavor.vcpus} vCPUs, {flavor.memory_mb} MB of memory, and "
        f"{root} + {flavor.ephemeral_gb} (ephemeral){swap} GB of disk."
    )


def _part(part: ExpectedPart, facts: Facts) -> str:
    if isinstance(part, Known):
        provider = facts.provider_names.get(part.provider, part.provider)
        return f"Its {part.source} asks for {plain_words(part.amounts)} of {provider}."
    return f"Not certain: {in_words(open_reason(part, facts.provider_names))}."


def _hypervisors(record: InstanceRecord, facts: Facts) -> Iterator[str]:
    if not any(row.source == LIBVIRT for row in facts.coverage.sources):
        yield "The hypervisors were not asked; --libvirt asks them."
        return
    for domain in record.domains:
        devices = ", ".join(domain.mediated_devices)
        having = f", with the mediated devices {devices}" if devices else ""
        yield f"The hypervisor of {domain.host} has it as {domain.name}, {domain.state}{having}."
    hosts = {row.host for row in record.living or record.rows if row.host}
    hosts |= {h for row in record.migrations for h in (row.source_host, row.target_host) if h}
    for host in sorted(hosts - {domain.host for domain in record.domains}):
        answered = facts.hypervisor_answered(host)
        yield (
            f"The hypervisor of {host} does not have it."
            if answered
            else f"The hypervisor of {host} was not asked, or did not answer."
        )
