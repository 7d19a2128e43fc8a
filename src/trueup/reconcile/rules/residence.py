# SPDX-License-Identifier: Apache-2.0
"""Residence: the provider whose resources an instance should hold, or why there is none.

Pure rules over facts, shared by the defects so that all of them leave the same instances alone.
"""

from collections.abc import Iterable
from datetime import timedelta

import msgspec

from trueup.reconcile.facts import (
    INSTANCE_MAPPINGS,
    ComputeNode,
    Coverage,
    Facts,
    Instance,
    InstanceRecord,
    Migration,
    Provider,
)
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import node_moved
from trueup.reconcile.rules.machines import is_same
from trueup.reconcile.rules.whereabouts import whereabouts

# Besides `task_state`: states in which Nova itself is, or soon will be, writing the allocation.
_UNSETTLED_STATES = {
    "building": because("being-built"),
    "resized": because("resize-unconfirmed"),
    "deleted": because("being-deleted"),
}

_OFFLOADED = "shelved_offloaded"
# The states in which an instance may rightly be on no host: offloaded, or its build failed, and
# then perhaps its owner deleted it.
_ON_NO_HOST = frozenset({_OFFLOADED, "error", "soft-delete"})
# Nova ends a migration first, and then, within this time, the state `resized` of its instance.
_CONFIRMING = timedelta(minutes=5)
# A time of Nova that is farther ahead comes from another time zone, as when somebody wrote now() by
# hand. It does not show that the instance is changing at this moment.
_CLOCKS_APART = timedelta(minutes=5)


class Placed(msgspec.Struct, frozen=True):
    """The instance is settled, on the compute node that this provider stands for."""

    provider: Provider


class Unconfirmed(msgspec.Struct, frozen=True):
    """Its resize or cold migration waits for confirmation, and holds the source until then."""

    migration: Migration


class InMotion(msgspec.Struct, frozen=True):
    """Something is under way with the instance, so it is left alone (invariant 7)."""

    reason: Reason


class NoHost(msgspec.Struct, frozen=True):
    """The instance is on no host, as after shelving."""


class Undetermined(msgspec.Struct, frozen=True):
    """The facts do not determine the provider, for this reason.

    `of_instance`: the reason is about this instance. Otherwise it is about the whole host or cell,
    and is reported once.
    """

    reason: Reason
    of_instance: bool = True


# Where Nova has an instance: cell, host and node.
_Place = tuple[str, str, str]

Residence = Placed | Unconfirmed | InMotion | NoHost | Undetermined


def residence(instance: Instance, record: InstanceRecord, facts: Facts) -> Residence:
    """Where the instance resides; `record` has all the facts about it."""
    if reason := _stuck(instance, record, facts):
        return Undetermined(reason)
    if reason := _motion(instance, record, facts):
        return _moving(reason, instance, record, facts)
    if reason := contradiction(record, facts):
        return Undetermined(reason)
    if instance.vm_state == "resized":
        return Undetermined(because("resized-without-move"))
    if behind := facts.cells_behind.get(instance.cell):
        return Undetermined(
            because("source-behind", behind, source=facts.cells[instance.cell]),
            of_instance=False,
        )
    return _on_its_host(instance, record, facts)


def _on_its_host(instance: Instance, record: InstanceRecord, facts: Facts) -> Residence:
    """Where an instance resides that is not in motion, and about which all sources agree."""
    if instance.host is None and instance.node is None:
        if instance.vm_state in _ON_NO_HOST:
            return NoHost()
        return Undetermined(because("state-on-no-host", vm_state=instance.vm_state))
    if instance.host is None or instance.node is None:
        return Undetermined(because("host-half-named", host=instance.host, node=instance.node))
    doubt = whereabouts(instance, record, facts)
    if doubt is not None and doubt.found is None:
        return Undetermined(doubt.reason)
    if instance.vm_state == _OFFLOADED:
        # nova-compute died after it set the state and before it cleared the host. Which of the two
        # is true is not known.
        return Undetermined(because("offloaded-on-host", vm_state=_OFFLOADED, host=instance.host))
    place = doubt.found if doubt and doubt.found else instance
    return _placed_on((place.cell, place.host or "", place.node or ""), facts)


def _moving(
    reason: Reason, instance: Instance, record: InstanceRecord, facts: Facts
) -> Unconfirmed | InMotion | Undetermined:
    """Whether what is under way waits for a confirmation, and whether anybody can give it."""
    if waiting := _waiting(instance, record, facts):
        return Unconfirmed(waiting)
    # Nova finds no move in another cell than that of the instance, so nothing can confirm it.
    stray = _stray_move(record, facts) if instance.vm_state == "resized" else None
    return Undetermined(stray) if stray else InMotion(reason)


def _placed_on(place: _Place, facts: Facts) -> Placed | Undetermined:
    """The residence of all instances of this place. PERF: it is judged once."""
    known = facts.once(_known_places)
    if place not in known:
        known[place] = _residence_at(place, facts)
    return known[place]


def _known_places(_: Facts) -> dict[_Place, Placed | Undetermined]:
    """The places judged so far."""
    return {}


def _residence_at(place: _Place, facts: Facts) -> Placed | Undetermined:
    nodes = facts.nodes_by_place.get(place, ())
    if len(nodes) != 1:
        cell, host, node = place
        moved = node_moved(place, facts)
        return Undetermined(
            because(
                "several-nodes" if nodes else "no-node",
                because("node-given-away", advice=moved) if moved else None,
                cell=facts.cells[cell],
                nodes=len(nodes),
                host=host,
                node=node,
            )
        )
    provider = provider_of(nodes[0], facts)
    return provider if isinstance(provider, Undetermined) else Placed(provider)


def contradiction(record: InstanceRecord, facts: Facts) -> Reason | None:
    """Why the sources contradict each other about an instance, alive or deleted; or None."""
    if _is_plain(record, facts):
        return None
    living, mapping = record.living, record.mapping
    cells = {row.cell for row in living or record.rows}
    if len(living) > 1:
        named = _names(cells, facts)
        if len(cells) == 1:
            hosts = tuple(sorted({str(row.host or "no host") for row in living}))
            return because("alive-twice", cells=named, hosts=hosts)
        return because("rows-alive", cells=named)
    if mapping is not None and mapping.cell not in cells:
        mapped = facts.cells.get(mapping.cell or "", "no cell")
        return because("mapped-elsewhere", cells=_names(cells, facts), mapped=mapped)
    if living and mapping is None and (gap := facts.once(_unknown_cells)):
        return because("not-mapped", gap)
    deleted = {row.cell for row in record.rows if row.deleted and not row.archived}
    if living and deleted & cells:
        # Nova's API shows a server from the cell that its mapping names, and lists all cells.
        return because("alive-and-deleted", cells=_names(deleted & cells, facts))
    gone = {row.cell for row in record.rows} - cells
    if gone:
        # After a resize between cells, Nova leaves no row in the cell that the instance left.
        alive_in, deleted_in = (_names(some, facts) for some in (cells, gone))
        return because("deleted-elsewhere", alive_in=alive_in, deleted_in=deleted_in)
    if record.misspelled:
        return because("uuid-written-otherwise", written=record.misspelled)
    return _of_moves(record, facts) or _running_elsewhere(living, record, facts)


def _of_moves(record: InstanceRecord, facts: Facts) -> Reason | None:
    """What is contradictory in its migrations; or None."""
    forms = [form for row in record.migrations for form in facts.misspelled.get(row.uuid, ())]
    if forms:
        return because("move-written-otherwise", written=tuple(forms))
    return _stray_move(record, facts)


def _stray_move(record: InstanceRecord, facts: Facts) -> Reason | None:
    """Which of its migrations is a row of another cell; or None.

    SAFETY: somebody edited `instance_uuid` of a row in another cell. The real instance there may
    need what the migration holds. Nova itself has such rows only for moves between cells.
    """
    cells = {row.cell for row in record.rows}
    strays = [row for row in record.migrations if row.cell not in cells and not row.between_cells]
    if strays:
        found, here = (_names(some, facts) for some in ({strays[0].cell}, cells))
        return because(
            "move-in-other-cell", kind=strays[0].kind, move=strays[0].uuid, found=found, cells=here
        )
    return None


def _running_elsewhere(
    living: tuple[Instance, ...], record: InstanceRecord, facts: Facts
) -> Reason | None:
    """Which host runs its guest, although Nova has the instance on another host; or None.

    If its moves leave open where the guest is, this is no contradiction: hypervisors decide.
    """
    hosts = {row.host for row in living}
    elsewhere = [
        name for name in record.running_on if not any(is_same(name, host, facts) for host in hosts)
    ]
    doubts = (whereabouts(row, record, facts) for row in living if elsewhere)
    possible = {place.host.casefold() for doubt in doubts if doubt for place in doubt.places}
    elsewhere = [host for host in elsewhere if host.casefold() not in possible]
    if elsewhere:
        if not hosts:
            return because("guest-of-deleted", hosts=tuple(elsewhere))
        named = tuple(sorted(map(str, hosts)))
        return because("guest-elsewhere", hosts=tuple(elsewhere), nova=named)
    return None


def _is_plain(record: InstanceRecord, facts: Facts) -> bool:
    """Whether an instance has only one row, a mapping to its cell, and migrations in that cell.

    PERF: this is so for nearly every instance. Then nothing can be contradictory.
    """
    if len(record.rows) != 1 or record.misspelled or record.domains:
        return False
    cell = record.rows[0].cell
    if record.migrations and (
        facts.misspelled or any(row.cell != cell for row in record.migrations)
    ):
        return False
    if record.mapping is None:
        return not facts.once(_unknown_cells)
    return record.mapping.cell == cell


def _unknown_cells(facts: Facts) -> Reason | None:
    """Why some cell is not known completely, if instance mappings were read; or None.

    SAFETY: a row without a mapping may be a stale copy of a row in such a cell.
    """
    names = frozenset(facts.cells.values())
    sources = tuple(row for row in facts.coverage.sources if row.source in names)
    return Coverage(sources).gap if facts.has(INSTANCE_MAPPINGS) else None


def _names(cells: Iterable[str], facts: Facts) -> tuple[str, ...]:
    return tuple(sorted({facts.cells.get(cell, cell) for cell in cells}))


def provider_of(node: ComputeNode, facts: Facts) -> Provider | Undetermined:
    """The provider of a compute node: the one with its uuid, if no other node has that uuid."""
    if not node.uuid:
        return _of_host(because("node-without-uuid", node=node.node, cell=facts.cells[node.cell]))
    if len(facts.nodes_by_uuid[node.uuid]) > 1:
        places = ", ".join(f"{row.host}/{row.node}" for row in facts.nodes_by_uuid[node.uuid])
        return _of_host(because("nodes-one-uuid", nodes=places, uuid=node.uuid))
    if provider := facts.providers.get(node.uuid):
        if broken := facts.broken_roots.get(provider.root):
            return _of_host(because("provider-tree-broken", broken=str(broken)))
        if other := exchanged(node, provider, facts):
            return _of_host(
                because(
                    "provider-names-exchanged",
                    provider=provider.name,
                    node=node.node,
                    host=other.host,
                )
            )
        return provider
    if namesakes := facts.providers_by_name.get(node.node):
        return _of_host(because("node-uuid-differs", node=node.uuid, provider=namesakes[0].uuid))
    return _of_host(because("no-provider", uuid=node.uuid, node=node.node))


def is_renamed(node: ComputeNode, provider: Provider) -> bool:
    """Whether the provider with a compute node's uuid has another name than the node.

    Databases may ignore the case of letters, and Nova follows the spelling of its host.
    """
    return provider.name.casefold() != node.node.casefold()


def exchanged(node: ComputeNode, provider: Provider, facts: Facts) -> ComputeNode | None:
    """The compute node whose provider has the name of this node, if only this node has that name.

    SAFETY: somebody exchanged the names of two providers, or the uuids of two compute nodes. In the
    second case, allocations are right by name, and wrong by uuid.
    """
    if not is_renamed(node, provider) or len(facts.nodes_by_name[node.node]) > 1:
        return None
    namesakes = facts.providers_by_name.get(node.node, ())
    others = [other for row in namesakes for other in facts.nodes_by_uuid.get(row.uuid, ())]
    return others[0] if others else None


def _of_host(reason: Reason) -> Undetermined:
    return Undetermined(reason, of_instance=False)


def _waiting(instance: Instance, record: InstanceRecord, facts: Facts) -> Migration | None:
    """The move that waits for confirmation, if nothing else is under way and sources agree."""
    if instance.vm_state != "resized":
        return None
    moves = [row for row in record.migrations if row.under_way]
    if len(moves) != 1 or moves[0].status != "finished" or moves[0].between_cells:
        return None
    other = _motion_of_row(instance, record, facts)
    certain = not contradiction(record, facts) and instance.cell not in facts.cells_behind
    return moves[0] if certain and other is None else None


def _stuck(instance: Instance, record: InstanceRecord, facts: Facts) -> Reason | None:
    """Why what looks under way is not, and never ends by itself; or None."""
    between_cells = any(row.between_cells for row in record.migrations)
    if record.hidden:
        return _hidden_for_good(record, facts)
    move = facts.moving.get(instance.uuid)
    if move is None or move.status != "finished" or between_cells or _confirming(record, facts):
        return None
    if instance.vm_state in (None, "resized", *_UNSETTLED_STATES):
        return None
    if _motion_of_row(instance, record, facts):
        return None
    return _cannot_be_confirmed(move, instance, facts)


def _hidden_for_good(record: InstanceRecord, facts: Facts) -> Reason | None:
    """Why a row stays hidden, or None: a move between cells shows it, or deletes it, at its end."""
    crossings = [row for row in record.migrations if row.between_cells]
    if not crossings:
        return because("hidden-alone") if len(record.rows) == 1 else None
    at_work = any(row.under_way for row in record.migrations)
    if at_work or any(row.task_state for row in record.living) or _confirming(record, facts):
        return None
    cells = ", ".join(sorted(facts.cells[row.cell] for row in record.living if row.hidden))
    return because("hidden-after-move", cells=cells)


def _cannot_be_confirmed(move: Migration, instance: Instance, facts: Facts) -> Reason:
    """As after `openstack server set --state`: both hosts are held until somebody ends the move.

    SAFETY: of an instance that is not on the target, as after an evacuation, a confirmation or a
    revert deletes the guest that it has now, or starts an older one.
    """
    named = {
        "kind": move.kind,
        "vm_state": instance.vm_state,
        "cell": facts.cells[instance.cell],
        "move": move.uuid,
        "host": instance.host,
    }
    if (move.target_host or "").casefold() == (instance.host or "").casefold():
        return because("finished-not-resized", **named, instance=instance.uuid)
    return because("finished-and-left", **named, target=move.target_host)


def _motion(instance: Instance, record: InstanceRecord, facts: Facts) -> Reason | None:
    migration = facts.moving.get(instance.uuid)
    if migration and instance.task_state is None and not record.hidden:
        return because("move-status", kind=migration.kind, status=migration.status)
    if reason := _motion_of_row(instance, record, facts):
        return reason
    if instance.vm_state == "resized" and not _confirming(record, facts):
        return None
    return _UNSETTLED_STATES.get(instance.vm_state or "building")


def _confirming(record: InstanceRecord, facts: Facts) -> bool:
    """Whether one of its migrations has just ended, so that its state may follow at any moment."""
    times = (row.updated_at or row.created_at for row in record.migrations)
    return any(moment > facts.taken_at - _CONFIRMING for moment in times if moment)


def _motion_of_row(instance: Instance, record: InstanceRecord, facts: Facts) -> Reason | None:
    if record.hidden:
        return because("hidden")
    if instance.task_state is not None:
        return because("task-state", task=instance.task_state)
    if instance.uuid in facts.builds:
        return because("build-request")
    changed = instance.updated_at
    if changed is not None and facts.taken_at <= changed < facts.read_until + _CLOCKS_APART:
        return because("changed-while-facts-read")
    return None
