# SPDX-License-Identifier: Apache-2.0
"""Whereabouts: whether it is open on which host the guest of an instance is. Pure.

A failed move moves no guest, so the last successful move decides. Where that contradicts Nova's
row, or where Nova itself gave up (`endings`), only a hypervisor knows, and its answer decides. So
it is without a move, where Nova found no guest on its host and another host is held.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from trueup.reconcile.facts import Facts, Instance, InstanceRecord, Migration
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import is_bare_metal
from trueup.reconcile.rules.endings import (
    NO_STATE,
    ON_SOURCE,
    ON_TARGET,
    EndOfMove,
    Says,
    endings_of,
    was_given_up,
)
from trueup.reconcile.rules.moves import root_of

# The kinds of moves during which the guest is off, and its definition may be on both hosts.
_COLD = frozenset({"migration", "resize"})


@dataclass(frozen=True, slots=True)
class Place:
    """A host on which a guest may be, as the row of an instance or of a migration names it."""

    cell: str
    host: str
    node: str

    def root(self, facts: Facts) -> str | None:
        """The root provider of the host, if it is known."""
        return root_of(self.cell, self.host, self.node, facts)


@dataclass(frozen=True, slots=True)
class _LeftOpen:
    """A move after which the guest may be on another host than Nova's, and what leaves this open.

    `from_here`: the move started on the host on which Nova has the instance.
    """

    move: Migration
    other: Place
    ending: EndOfMove
    from_here: bool


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The hosts on which a guest may be, Nova's host first, and why.

    `found` is the place where the hypervisors found the guest; None: they do not tell.
    """

    places: tuple[Place, ...]
    reason: Reason
    found: Place | None


def whereabouts(instance: Instance, record: InstanceRecord, facts: Facts) -> Whereabouts | None:
    """The places where the guest may be; None if there is no doubt about Nova's host."""
    if instance.host is None or not (record.migrations or instance.power_state == NO_STATE):
        return None
    here = Place(instance.cell, instance.host, instance.node or "")
    runs_elsewhere = any(row.active and not _is_on(row.host, here) for row in record.domains)
    given_up = runs_elsewhere or was_given_up(instance)
    moves = _that_count([*_left_open(here, given_up, record, facts)], here, record, facts)
    others = [row.other for row in moves] or _held_without_guest(here, instance, record, facts)
    if not others:
        return None
    places = tuple(dict.fromkeys((here, *others)))
    cold = bool(moves) and all(row.move.kind in _COLD for row in moves)
    found = _found(places, cold, record, facts)
    reason = because(
        "guest-maybe-elsewhere",
        _of_move(moves[0], instance) if moves else because("no-guest-found", host=here.host),
        None if found else _silence(places, record, facts),
        hosts=tuple(place.host for place in places),
    )
    return Whereabouts(places, reason, found)


def as_found(instance: Instance, record: InstanceRecord, facts: Facts) -> Instance:
    """The instance on the host where hypervisors found its guest, if its moves leave that open."""
    doubt = whereabouts(instance, record, facts)
    if doubt is None or doubt.found is None:
        return instance
    return replace(instance, host=doubt.found.host, node=doubt.found.node)


def _left_open(
    here: Place, given_up: bool, record: InstanceRecord, facts: Facts
) -> Iterator[_LeftOpen]:
    """The moves that leave open where the guest is, the newest first.

    Each move is judged by the host on which Nova had the instance after it. A live migration that
    ended there brought the guest. Other moves start a new guest: an old guest that an earlier move
    left elsewhere may run on, and so may the second guest that an evacuation started.
    """
    at, reached, brought = here, [here], False
    # Nova's API lists the newest first. Rows without a time stay in their order.
    for row in sorted(record.migrations, key=_created_at)[::-1]:
        if row.under_way:
            continue
        if _arrived(row, at, facts):
            brought = brought or row.kind == "live-migration"
            # PERF: nearly every moved instance is where a live migration ended.
            if row.source_host is None or (brought and not _was_evacuated(record)):
                return
            at = Place(row.cell, row.source_host, row.source_node or "")
            reached.append(at)
            continue
        is_open = _is_open(row, at, given_up or at is not here, facts)
        succeeded = row.status in ON_TARGET | ON_SOURCE
        if is_open and not (brought and row.kind != "evacuation"):
            other, ending, on_source = is_open
            if not any(_same(other, place, facts) for place in reached):
                yield _LeftOpen(row, other, ending, on_source and at is here)
        if succeeded and (is_open or not _starts_at(row, at, facts)):
            return


def _was_evacuated(record: InstanceRecord) -> bool:
    return any(row.kind == "evacuation" for row in record.migrations)


def _arrived(row: Migration, at: Place, facts: Facts) -> bool:
    """Whether a move brought the instance to the host on which Nova has it, for certain."""
    if endings_of(row.kind, row.status).on_target.says is not Says.HERE:
        return False
    if row.target_node == at.node and row.target_host == at.host:
        return True
    target = _place(row.cell, row.target_host, row.target_node, facts)
    return _same(target, at, facts) and not _starts_at(row, at, facts)


def _starts_at(row: Migration, at: Place, facts: Facts) -> bool:
    return _same(_place(row.cell, row.source_host, row.source_node, facts), at, facts)


def _is_open(
    row: Migration, at: Place, given_up: bool, facts: Facts
) -> tuple[Place, EndOfMove, bool] | None:
    """The other host where a move may have left the guest, why, and if it started on Nova's host.

    None: the move leaves nothing open. A failed move between two other hosts leaves nothing open.
    """
    source = _place(row.cell, row.source_host, row.source_node, facts)
    target = _place(row.cell, row.target_host, row.target_node, facts)
    on_source, on_target = _same(source, at, facts), _same(target, at, facts)
    if on_source == on_target and (on_source or row.status not in ON_TARGET | ON_SOURCE):
        return None
    endings = endings_of(row.kind, row.status)
    is_back = row.status in ON_SOURCE and not on_source
    ending = endings.of(given_up, on_target or is_back)
    other = source if on_target or is_back else target
    if ending.says is not Says.OPEN or other is None:
        return None
    return other, ending, on_source


def _created_at(row: Migration) -> datetime:
    return row.created_at or datetime.min


def _place(cell: str, host: str | None, node: str | None, facts: Facts) -> Place | None:
    """A host that a migration names, by the present name of its compute node if that is known."""
    if not host:
        return None
    nodes = facts.nodes_by_uuid.get(root_of(cell, host, node, facts) or "", ())
    return (
        Place(nodes[0].cell, nodes[0].host, nodes[0].node)
        if nodes
        else Place(cell, host, node or "")
    )


def _same(place: Place | None, other: Place, facts: Facts) -> bool:
    if place is None:
        return False
    roots = (place.root(facts), other.root(facts))
    if None not in roots:
        return roots[0] == roots[1]
    return place.host.casefold() == other.host.casefold()


def _that_count(
    moves: list[_LeftOpen], here: Place, record: InstanceRecord, facts: Facts
) -> list[_LeftOpen]:
    """The moves that matter, the successful ones first: those with a sign that the guest is there.

    The sign is a claim or a guest there. If there is none, and the instance itself holds nothing
    of this host, the moves that left it matter. Otherwise claims and Nova agree, and a move that
    failed long ago is no reason for doubt.
    """
    roots = frozenset[str]().union(*map(facts.roots_of, (record.own, *record.moves.values())))
    guests = [row.host for row in record.domains if row.active]
    there = [
        row
        for row in moves
        if row.other.root(facts) in roots or any(_is_on(host, row.other) for host in guests)
    ]
    if not there and here.root(facts) not in facts.roots_of(record.own):
        there = [row for row in moves if row.from_here]
    return sorted(there, key=lambda row: row.move.status not in ON_TARGET | ON_SOURCE)


def _held_without_guest(
    here: Place, instance: Instance, record: InstanceRecord, facts: Facts
) -> list[Place]:
    """The other hosts of which something is held, where Nova found no guest on its own host.

    SAFETY: a cell's database that was put back from a backup has an instance on the host that it
    left since, and nothing of its move. Ironic alone knows this of bare metal.
    """
    if instance.power_state != NO_STATE or is_bare_metal(instance, facts):
        return []
    roots = frozenset[str]().union(*map(facts.roots_of, (record.own, *record.moves.values())))
    held = [node for root in sorted(roots) for node in facts.nodes_by_uuid.get(root, ())]
    places = [Place(node.cell, node.host, node.node) for node in held]
    return [place for place in places if not _same(place, here, facts)]


def _is_on(host: str, place: Place) -> bool:
    return host.casefold() == place.host.casefold()


def _found(
    places: tuple[Place, ...], cold: bool, record: InstanceRecord, facts: Facts
) -> Place | None:
    """The place where the hypervisors found the guest; None if they do not tell.

    A hypervisor that answered and has no such domain, running or defined, is proof. After a cold
    move both hosts may have a definition, or neither: only a running guest shows its place.
    """
    if any(not row.ours for row in record.domains):
        # SAFETY: somebody else made a domain with this uuid, so it is not known which is the guest.
        return None
    left = []
    for place in places:
        there = [row for row in record.domains if _is_on(row.host, place)]
        if not facts.hypervisor_answered(place.host) or any(
            row.active or not cold for row in there
        ):
            left.append(place)
    running = [
        place
        for place in left
        if any(row.active for row in record.domains if _is_on(row.host, place))
    ]
    all_answered = all(facts.hypervisor_answered(place.host) for place in left)
    if len(left) > 1 and len(running) == 1 and all_answered:
        return running[0]
    return left[0] if len(left) == 1 and (running or not cold) else None


def _silence(places: tuple[Place, ...], record: InstanceRecord, facts: Facts) -> Reason:
    """Why the hypervisors do not tell where the guest is."""
    hosts = [place.host for place in places]
    silent = [host for host in hosts if not facts.hypervisor_answered(host)]
    if silent:
        return because("ask-hypervisors", hosts=tuple(silent))
    states = {row.host.casefold(): row.state for row in record.domains}
    said = tuple(f"{host}: {states.get(host.casefold(), 'no domain')}" for host in hosts)
    return because("hypervisors-undecided", states=said)


def _of_move(left_open: _LeftOpen, instance: Instance) -> Reason:
    row = left_open.move
    return because(
        "move-left-open",
        kind=row.kind,
        source=row.source_host,
        target=row.target_host,
        status=row.status,
        host=instance.host,
        vm_state=instance.vm_state,
        ending=left_open.ending.why,
    )
