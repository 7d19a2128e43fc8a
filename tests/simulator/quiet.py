# SPDX-License-Identifier: Apache-2.0
"""Quiet clouds: every source answers, no operation is under way, and every grace is over."""

from dataclasses import dataclass
from random import Random

from tests.simulator import adapter
from tests.simulator.cloud import Cloud, Impossible
from tests.simulator.drifts import DRIFTS
from tests.simulator.events import Event, happen
from tests.simulator.generating import HEALTHY, READ, Mix, history
from tests.simulator.operations import bare_metal
from tests.simulator.running import INTERVAL_SECONDS, look, play

# Longer than the grace of any defect.
QUIET_SECONDS = 4000


@dataclass
class QuietCloud:
    """A quiet cloud, and the events that led to it."""

    cloud: Cloud
    happened: list[str]


def quiet_cloud(seed: int, mix: Mix = HEALTHY) -> QuietCloud:
    """Play a history and let all its operations finish."""
    cloud, log = Cloud(), []
    play((event for event in history(seed, mix) if event.verb != READ.verb), cloud, log)
    settle(cloud)
    return QuietCloud(cloud, log)


def settle(cloud: Cloud) -> None:
    """Bring all cells and all of bare metal up, finish all operations, and let time pass."""
    for cell in cloud.cells.values():
        cell.answers, cell.replica = True, None
    cloud.finish()
    bare_metal.settle(cloud)
    cloud.wait(QUIET_SECONDS)


def drifted(seed: int) -> QuietCloud:
    """A quiet cloud with one planted drift on each server that can have one."""
    quiet, rng = quiet_cloud(seed), Random(seed)
    for server in list(quiet.cloud.servers.values()):
        for kind in rng.sample(tuple(DRIFTS), len(DRIFTS)):
            event = Event("plant", (server.name, kind))
            try:
                happen(event, quiet.cloud)
            except Impossible:
                continue
            quiet.happened.append(str(event))
            break
    quiet.cloud.wait(QUIET_SECONDS)
    return quiet


def audited(cloud: Cloud, hypervisors: bool = False) -> adapter.Audited:
    """Audit a cloud while nothing happens in it."""
    seen = look(cloud, hypervisors, _dark_cells(cloud))
    try:
        while True:
            next(seen)
    except StopIteration as over:
        return over.value


def _dark_cells(cloud: Cloud) -> frozenset[str]:
    """The cells of which an operator knows that all their hosts are down."""
    return frozenset(
        name for name, cell in cloud.cells.items() if set(cell.services) <= cloud.stopped
    )


def repaired(cloud: Cloud, hypervisors: bool = False) -> adapter.Audited:
    """Observe twice, plan and apply; returns an audit of the result."""
    return repaired_and_declined(cloud, hypervisors)[0]


def repaired_and_declined(
    cloud: Cloud, hypervisors: bool = False
) -> tuple[adapter.Audited, frozenset[tuple[str, str]]]:
    """The same, with the defect and the subject of each finding that the plan has no step for."""
    first = audited(cloud, hypervisors)
    cloud.wait(INTERVAL_SECONDS)
    planned = adapter.planned(first, audited(cloud, hypervisors), cloud)
    for _ in adapter.applied(planned, cloud, lambda step: None):
        pass
    declined = (one.finding for one in planned.plan.declined)
    names = frozenset((row.defect, row.subject.uuid) for row in declined)
    return audited(cloud, hypervisors), names


def wrong_consumers(cloud: Cloud) -> dict[str, frozenset[str]]:
    """The consumers that hold something wrong and that no operation is about to write.

    Maps each of them to the defect names that a finding about it may have.
    """
    consumers = {*cloud.ledger, *cloud.right} - cloud.foreign
    return {
        consumer: cloud.drift.get(consumer, frozenset())
        for consumer in sorted(consumers)
        if cloud.is_wrong(consumer) and not _is_busy(cloud, consumer)
    }


def _is_busy(cloud: Cloud, consumer: str) -> bool:
    server = cloud.server_of(consumer)
    return server is not None and server.busy


def subjects_of(cloud: Cloud, consumer: str) -> frozenset[str]:
    """The subjects that a finding about this consumer may have: itself and its server."""
    server = cloud.server_of(consumer)
    return frozenset({consumer, server.uuid} if server else {consumer})
