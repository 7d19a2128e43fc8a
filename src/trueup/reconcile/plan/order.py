# SPDX-License-Identifier: Apache-2.0
"""Order: an order in which each step has room when its turn comes, and the steps' effects. Pure.

Two full hosts that each hold the other's instance have no such order: their steps become one step,
which is written in one request.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import heappop, heappush

from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because, together
from trueup.reconcile.rules.bare_metal import reserved_in_use
from trueup.reconcile.steps import (
    AllocationsOf,
    Change,
    Held,
    InventoriesOf,
    ProviderNode,
    State,
    Step,
    Tree,
    held_in,
    step_growth,
    step_of,
)

# provider uuid, resource class
Resource = tuple[str, str]


@dataclass(frozen=True, slots=True)
class HostEffect:
    """What a step does to the usage of one class of one provider."""

    provider: str
    name: str
    resource_class: str
    used_before: int
    used_after: int
    capacity: int


@dataclass(frozen=True, slots=True)
class ProjectEffect:
    """By how much a step changes a project's usage of one class, over all providers."""

    project: str
    resource_class: str
    change: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What one step does to capacity and to the usage of projects."""

    step: str
    hosts: tuple[HostEffect, ...]
    projects: tuple[ProjectEffect, ...]


@dataclass(frozen=True, slots=True)
class NoRoom:
    """A step that no order makes valid, and what it lacks."""

    step: Step
    reason: Reason


@dataclass(frozen=True, slots=True)
class Ordered:
    """Steps in a valid order with their effects, and those for which there is no room."""

    steps: tuple[Step, ...]
    effects: tuple[Effect, ...]
    without_room: tuple[NoRoom, ...]


def ordered(steps: Sequence[Step], facts: Facts) -> Ordered:
    """The steps in an order in which each has room when its turn comes.

    For a selection, not all usage is known: Trueup assumes the room, and Placement checks it.
    """
    room = _Room(facts)
    queue = _Queue(sorted(steps, key=lambda step: (_grows(step), step.id)), room)
    chosen: list[Step] = []
    effects: list[Effect] = []
    while taken := queue.next() or queue.exchange():
        step = merged(taken) if len(taken) > 1 else taken[0]
        chosen.append(step)
        effects.append(room.take(step))
        queue.taken(taken)
    lacking = tuple(
        NoRoom(step, room.lacking(step) or because("needs-step-not-made", steps=tuple(step.needs)))
        for step in queue.waiting
    )
    return Ordered(tuple(chosen), tuple(effects), lacking)


def merged(steps: Sequence[Step]) -> Step:
    """One step that makes the changes of these steps at once."""
    changes = [change for step in steps for change in step.changes]
    consumers = tuple(sorted(consumer for step in steps for consumer in step.consumers))
    before = {
        consumer: held for change in changes for consumer, held in held_in(change.before).items()
    }
    after = {
        consumer: held for change in changes for consumer, held in held_in(change.after).items()
    }
    version = {
        consumer: number for change in changes for consumer, number in change.version.items()
    }
    change = Change(AllocationsOf(consumers), Held(before), Held(after), version)
    guards = tuple(guard for step in steps for guard in step.guards)
    return step_of((change,), guards, tuple(finding for step in steps for finding in step.because))


class _Room:
    """The usage of each provider and class while steps are written."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._all_known = facts.hosts_in_scope is None
        self._used: Counter[Resource] = Counter()
        for amounts in facts.consumers.values():
            for uuid, held in amounts.items():
                self._used.update({(uuid, name): amount for name, amount in held.items()})
        # Providers whose capacity an earlier step may change; Placement checks these.
        self._changed: set[str] = set()

    def fits(self, steps: Sequence[Step]) -> bool:
        """Whether there is room for all these steps at once."""
        return not self._missing(_total_growth(steps), _altered(steps))

    def lacks(self, step: Step) -> Resource | None:
        """A resource that is short for a step; None if the step has room."""
        return next(iter(self._missing(step_growth(step), _altered([step]))), None)

    def lacking(self, step: Step) -> Reason | None:
        """What a step lacks, as a reason; or None."""
        missing = self._missing(step_growth(step), _altered([step]))
        return together(self._no_room(resource, amount) for resource, amount in missing.items())

    def _no_room(self, resource: Resource, amount: int) -> Reason:
        uuid, name = resource
        used = self._used[resource]
        if not used and (host := reserved_in_use(uuid, name, self._facts)):
            return because(
                "node-in-use-reserved", node=self._name(uuid), host=host, resource_class=name
            )
        return because(
            "no-room",
            provider=self._name(uuid),
            free=max(0, self._capacity(uuid, name) - used),
            resource_class=name,
            needs=amount,
        )

    def take(self, step: Step) -> Effect:
        """Count a step as written."""
        hosts = []
        for (uuid, name), amount in step_growth(step).items():
            before = self._used[uuid, name]
            self._used[uuid, name] += amount
            hosts.append(
                HostEffect(
                    uuid, self._name(uuid), name, before, before + amount,
                    self._capacity(uuid, name),
                )
            )  # fmt: skip
        self._changed |= _altered([step])
        return Effect(step.id, tuple(hosts), project_effects(step))

    def _missing(
        self, growth: Mapping[Resource, int], altered: AbstractSet[str]
    ) -> dict[Resource, int]:
        """The needed amounts that are not free, except of providers whose capacity changes."""
        if not self._all_known:
            return {}
        return {
            (uuid, name): amount
            for (uuid, name), amount in growth.items()
            if amount > 0
            and uuid not in altered
            and uuid not in self._changed
            and self._used[uuid, name] + amount > self._capacity(uuid, name)
        }

    def _capacity(self, uuid: str, name: str) -> int:
        provider = self._facts.providers.get(uuid)
        inventory = provider.inventories.get(name) if provider else None
        return inventory.capacity if inventory else 0

    def _name(self, uuid: str) -> str:
        return self._facts.provider_names.get(uuid, uuid)


class _Queue:
    """Steps that wait, in their preferred order.

    PERF: a step that is not ready waits for one thing that it lacks, an earlier step or room on a
    provider, and is checked again when that comes. Checking all steps after each step took minutes
    for 5,000 steps.
    """

    def __init__(self, by_preference: Sequence[Step], room: _Room) -> None:
        self._room = room
        self._steps = {step.id: step for step in by_preference}
        self._number = {step_id: number for number, step_id in enumerate(self._steps)}
        self._order = tuple(self._steps)
        self._heap = list(range(len(self._order)))
        self._waiting_for: dict[str, list[str]] = {}
        self._freeing: dict[Resource, list[str]] = {}
        for step in by_preference:
            for resource, amount in step_growth(step).items():
                if amount < 0:
                    self._freeing.setdefault(resource, []).append(step.id)

    @property
    def waiting(self) -> Iterable[Step]:
        return self._steps.values()

    def next(self) -> list[Step]:
        """The first step that is ready; an empty list: no step is ready by itself."""
        while self._heap:
            step = self._steps.get(self._order[heappop(self._heap)])
            if step is None:
                continue
            lacking = self._lacking(step)
            if lacking is None:
                return [step]
            self._waiting_for.setdefault(lacking, []).append(step.id)
        return []

    def taken(self, steps: Iterable[Step]) -> None:
        """Forget these written steps, and check again the steps that waited for them."""
        for step in steps:
            del self._steps[step.id]
            freed = {uuid for (uuid, _), amount in step_growth(step).items() if amount < 0}
            for reason in (step.id, *sorted(freed | _altered([step]))):
                for waiting in self._waiting_for.pop(reason, ()):
                    heappush(self._heap, self._number[waiting])

    def exchange(self) -> list[Step]:
        """Steps that have room only together: two of them, or all that change only allocations."""
        movable = [step for step in self._steps.values() if _only_allocations(step)]
        for step in movable:
            for other in self._partners(step):
                if self._room.fits([step, other]):
                    return sorted((step, other), key=lambda row: self._number[row.id])
        return movable if len(movable) > 2 and self._room.fits(movable) else []

    def _lacking(self, step: Step) -> str | None:
        """The id of the step, or the uuid of the provider, for which a step waits."""
        unmet = next((need for need in step.needs if need in self._steps), None)
        lacking = None if unmet else self._room.lacks(step)
        return lacking[0] if lacking else unmet

    def _partners(self, step: Step) -> Iterable[Step]:
        """The steps that free a resource that a step lacks, and change only allocations."""
        lacking = self._room.lacks(step)
        freeing = self._freeing.get(lacking, ()) if lacking else ()
        found = (
            self._steps[step_id]
            for step_id in freeing
            if step_id in self._steps and step_id != step.id
        )
        return (other for other in found if _only_allocations(other))


def _only_allocations(step: Step) -> bool:
    return not step.needs and all(
        isinstance(change.target, AllocationsOf) for change in step.changes
    )


def _grows(step: Step) -> bool:
    return any(amount > 0 for amount in step_growth(step).values())


def _providers(change: Change) -> Iterable[str]:
    """The providers whose capacity a change may alter."""
    match change.target:
        case Tree(providers, _):
            return providers
        case ProviderNode(provider) | InventoriesOf(provider):
            return (provider,)
    return ()


def _altered(steps: Iterable[Step]) -> set[str]:
    """The providers whose capacity steps may alter."""
    return {uuid for step in steps for change in step.changes for uuid in _providers(change)}


def _total_growth(steps: Iterable[Step]) -> Counter[Resource]:
    total: Counter[Resource] = Counter()
    for step in steps:
        for resource, amount in step_growth(step).items():
            total[resource] += amount
    return total


def project_effects(step: Step) -> tuple[ProjectEffect, ...]:
    """By how much a step changes each project's usage of each class."""
    usage: Counter[tuple[str, str]] = Counter()
    for change in step.changes:
        _count(usage, change.before, -1)
        _count(usage, change.after, 1)
    return tuple(
        ProjectEffect(project, name, amount)
        for (project, name), amount in sorted(usage.items())
        if amount
    )


def _count(usage: Counter[tuple[str, str]], state: State | None, sign: int) -> None:
    owners = [held for held in held_in(state).values() if held is not None]
    for held in owners:
        for amounts in held.amounts.values():
            for name, amount in amounts.items():
                usage[held.project, name] += sign * amount
