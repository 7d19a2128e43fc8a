# SPDX-License-Identifier: Apache-2.0
"""Plants drift in a lab cloud.

It changes Nova's databases with SQL (`incidents`), and Placement over its API.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random
from typing import Any
from uuid import UUID, uuid5

from trueup.lab.incidents import (
    Evacuation,
    FailedMigration,
    delete_as_nova,
    delete_by_hand,
    fail_migrations,
    lose_host,
)
from trueup.lab.nova.databases import NovaDatabases
from trueup.lab.placement_client import PlacementClient
from trueup.lab.survey import ComputeNode, ConsistentInstance, Survey, survey

_DIED_HOURS_AGO = 9
_FAILED_HOURS_AGO = 5


class Kind(StrEnum):
    """The kinds of drift, named after the defects that find them."""

    ORPHANED_ALLOCATION = "orphaned-allocation"
    EVACUATION_RESIDUE = "evacuation-residue"
    MIGRATION_RESIDUE = "migration-residue"
    MISSING_ALLOCATION = "missing-allocation"
    WRONG_PROVIDER = "wrong-provider"


@dataclass(frozen=True, slots=True)
class Drift:
    """How many of each kind to plant."""

    orphaned: int = 5
    evacuated: int = 5
    missing: int = 5
    misplaced: int = 5
    failed: int = 5


@dataclass(frozen=True, slots=True)
class Planted:
    """One instance whose allocation is now wrong.

    `host` is the instance's host in Nova's database (its last host, if it is deleted).
    `provider_uuid` is the provider with an allocation too many, or with a missing one.
    """

    kind: Kind
    consumer_uuid: str
    cell: str
    host: str
    provider_uuid: str
    description: str


class NotEnoughInstances(Exception):
    """Too few consistent instances, or too little free capacity, for the requested drift."""

    def __init__(self, kind: Kind, wanted: int) -> None:
        super().__init__(
            f"there is no room for {wanted} of {kind}: ask for less, or for more hosts"
        )
        self.kind = kind
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class DriftTarget:
    """The cloud in which drift is planted. `now` is its current time, in UTC without a zone."""

    databases: NovaDatabases
    placement: PlacementClient
    now: datetime


@dataclass(frozen=True, slots=True)
class _Orphan:
    instance: ConsistentInstance
    deleted_at: datetime
    by_hand: bool


@dataclass(frozen=True, slots=True)
class _Misplaced:
    instance: ConsistentInstance
    elsewhere: ComputeNode


@dataclass(frozen=True, slots=True)
class _DriftPlan:
    """Everything that will be planted; it is decided before anything is written."""

    orphans: tuple[_Orphan, ...]
    dead: ComputeNode | None
    evacuations: tuple[Evacuation, ...]
    missing: tuple[ConsistentInstance, ...]
    misplaced: tuple[_Misplaced, ...]
    failed: tuple[FailedMigration, ...]


def plant(target: DriftTarget, drift: Drift, seed: int) -> tuple[Planted, ...]:
    """Plant all of `drift`, each in a different instance.

    The same cloud and seed give the same drift. A second call adds more drift. Raises
    `NotEnoughInstances` before anything is written.
    """
    plan = _DriftPlanner(survey(target.databases, target.placement), seed, target.now).plan(drift)

    allocations = dict(_allocations(plan))
    if allocations:
        target.placement.post("/allocations", allocations)
    for orphan in plan.orphans:
        if orphan.by_hand:
            delete_by_hand(orphan.instance, orphan.deleted_at)
        else:
            delete_as_nova(target.databases, orphan.instance, orphan.deleted_at)
    if plan.dead is not None:
        died_at = target.now - timedelta(hours=_DIED_HOURS_AGO)
        lose_host(plan.dead, plan.evacuations, died_at)
    fail_migrations(plan.failed, target.now - timedelta(hours=_FAILED_HOURS_AGO))

    return tuple(_planted(plan))


class _DriftPlanner:
    """Chooses random instances, none twice, and tracks the free capacity of target hosts."""

    def __init__(self, surveyed: Survey, seed: int, now: datetime) -> None:
        self._rng = Random(seed)
        self._now = now
        self._nodes = surveyed.nodes
        self._left = list(surveyed.instances)
        self._free = {node.uuid: dict(node.free) for node in surveyed.nodes}

    def plan(self, drift: Drift) -> _DriftPlan:
        dead = self._dying(drift.evacuated) if drift.evacuated else None
        evacuations: tuple[Evacuation, ...] = ()
        if dead is not None:
            on_it = [instance for instance in self._left if instance.node == dead]
            # Other instances on the dead host get no drift: one incident for each host.
            self._left = [instance for instance in self._left if instance.node != dead]
            self._nodes = tuple(node for node in self._nodes if node != dead)
            evacuations = tuple(
                self._evacuated(instance) for instance in self._rng.sample(on_it, drift.evacuated)
            )
        orphaned = self._draw(Kind.ORPHANED_ALLOCATION, drift.orphaned)
        return _DriftPlan(
            orphans=tuple(self._orphaned(instance, nth) for nth, instance in enumerate(orphaned)),
            dead=dead,
            evacuations=evacuations,
            missing=tuple(self._draw(Kind.MISSING_ALLOCATION, drift.missing)),
            misplaced=tuple(
                _Misplaced(instance, self._target(Kind.WRONG_PROVIDER, instance))
                for instance in self._draw(Kind.WRONG_PROVIDER, drift.misplaced)
            ),
            failed=tuple(
                self._failed_migration(instance)
                for instance in self._draw(Kind.MIGRATION_RESIDUE, drift.failed)
            ),
        )

    def _draw(self, kind: Kind, wanted: int) -> list[ConsistentInstance]:
        if wanted > len(self._left):
            raise NotEnoughInstances(kind, wanted)
        drawn = self._rng.sample(self._left, wanted)
        self._left = [instance for instance in self._left if instance not in drawn]
        return drawn

    def _dying(self, wanted: int) -> ComputeNode:
        """A host with enough consistent instances, and with as few other consumers as possible."""
        consistent = {instance.uuid for instance in self._left}
        able = [node for node in self._nodes if len(node.consumers & consistent) >= wanted]
        if not able:
            raise NotEnoughInstances(Kind.EVACUATION_RESIDUE, wanted)
        fewest = min(len(node.consumers - consistent) for node in able)
        return self._rng.choice([n for n in able if len(n.consumers - consistent) == fewest])

    def _evacuated(self, instance: ConsistentInstance) -> Evacuation:
        uuid = str(UUID(int=self._rng.getrandbits(128), version=4))
        return Evacuation(uuid, instance, self._target(Kind.EVACUATION_RESIDUE, instance))

    def _failed_migration(self, instance: ConsistentInstance) -> FailedMigration:
        # Made from the instance: the migration is a consumer, also when drift is planted again.
        uuid = str(uuid5(UUID(instance.uuid), "live migration"))
        return FailedMigration(uuid, instance, self._target(Kind.MIGRATION_RESIDUE, instance))

    def _orphaned(self, instance: ConsistentInstance, nth: int) -> _Orphan:
        deleted_at = self._now - timedelta(minutes=self._rng.randrange(2 * 60, 30 * 60))
        return _Orphan(instance, deleted_at, by_hand=nth % 2 == 1)

    def _target(self, kind: Kind, instance: ConsistentInstance) -> ComputeNode:
        """Another host of the same cell with capacity for the instance."""
        fitting = [
            node
            for node in self._nodes
            if node.cell == instance.node.cell
            and node != instance.node
            and all(n <= self._free[node.uuid][name] for name, n in instance.resources.items())
        ]
        if not fitting:
            raise NotEnoughInstances(kind, 1)
        target = self._rng.choice(fitting)
        for name, amount in instance.resources.items():
            self._free[target.uuid][name] -= amount
        return target


def _allocations(plan: _DriftPlan) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The body of one POST /allocations that writes all drift in Placement."""
    for evacuation in plan.evacuations:
        instance = evacuation.instance
        yield instance.uuid, _consumer(instance, (instance.node, evacuation.target))
    for instance in plan.missing:
        yield instance.uuid, _consumer(instance, ())
    for misplaced in plan.misplaced:
        instance = misplaced.instance
        yield instance.uuid, _consumer(instance, (misplaced.elsewhere,))
    for failed in plan.failed:
        instance = failed.instance
        yield instance.uuid, _consumer(instance, (failed.target,))
        yield failed.uuid, {**_consumer(instance, (instance.node,)), "consumer_generation": None}


def _consumer(instance: ConsistentInstance, nodes: Sequence[ComputeNode]) -> Mapping[str, Any]:
    return {
        "allocations": {node.uuid: {"resources": instance.resources} for node in nodes},
        "project_id": instance.project_id,
        "user_id": instance.user_id,
        "consumer_generation": instance.consumer_generation,
    }


def _planted(plan: _DriftPlan) -> Iterator[Planted]:
    for orphan in plan.orphans:
        home = orphan.instance.node
        how = "by SQL, deleted = 1" if orphan.by_hand else "while its host was down"
        description = f"deleted {how}, {orphan.deleted_at:%Y-%m-%d %H:%M}; its allocation stayed"
        yield _entry(Kind.ORPHANED_ALLOCATION, orphan.instance, (home, home), description)
    for evacuation in plan.evacuations:
        source, target = evacuation.instance.node, evacuation.target
        description = f"evacuated from dead {source.host} to {target.host}; holds both"
        yield _entry(Kind.EVACUATION_RESIDUE, evacuation.instance, (target, source), description)
    for instance in plan.missing:
        description = f"runs on {instance.node.host} and holds nothing"
        yield _entry(Kind.MISSING_ALLOCATION, instance, (instance.node, instance.node), description)
    for misplaced in plan.misplaced:
        home, elsewhere = misplaced.instance.node, misplaced.elsewhere
        description = f"runs on {home.host} and holds its share of {elsewhere.host}"
        yield _entry(Kind.WRONG_PROVIDER, misplaced.instance, (home, elsewhere), description)
    for failed in plan.failed:
        home, target = failed.instance.node, failed.target
        description = f"its live migration to {target.host} failed; it holds the target"
        yield _entry(Kind.MIGRATION_RESIDUE, failed.instance, (home, target), description)


def _entry(
    kind: Kind,
    instance: ConsistentInstance,
    places: tuple[ComputeNode, ComputeNode],
    description: str,
) -> Planted:
    host, provider = places
    return Planted(kind, instance.uuid, host.cell.name, host.host, provider.uuid, description)
