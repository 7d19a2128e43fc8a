# SPDX-License-Identifier: Apache-2.0
"""A cloud that has come to rest: every source answers, and Nova does nothing any more."""

from dataclasses import dataclass
from random import Random

from tests.simulator import adapter
from tests.simulator.cloud import Cloud, Impossible
from tests.simulator.drifts import DRIFTS
from tests.simulator.events import Event, happen
from tests.simulator.generating import HEALTHY, READ, Mix, history
from tests.simulator.observing import Observed, looked
from tests.simulator.running import BETWEEN_LOOKS_SECONDS, played

# Longer than any grace.
REST_SECONDS = 4000


@dataclass
class Rest:
    """A cloud at rest, and what happened to it before."""

    cloud: Cloud
    happened: list[str]


def come_to_rest(seed: int, mix: Mix = HEALTHY) -> Rest:
    """A history, of which every operation comes to its end."""
    cloud, told = Cloud(), []
    played((event for event in history(seed, mix) if event != READ), cloud, told)
    settle(cloud)
    return Rest(cloud, told)


def settle(cloud: Cloud) -> None:
    for cell in cloud.cells.values():
        cell.answers, cell.replica = True, None
    cloud.finish()
    cloud.wait(REST_SECONDS)


def drifted(seed: int) -> Rest:
    """A cloud at rest, in which one thing is wrong with one or more servers."""
    rest, rng = come_to_rest(seed), Random(seed)
    for server in list(rest.cloud.servers.values()):
        for kind in rng.sample(tuple(DRIFTS), len(DRIFTS)):
            event = Event("plant", (server.name, kind))
            try:
                happen(event, rest.cloud)
            except Impossible:
                continue
            rest.happened.append(str(event))
            break
    rest.cloud.wait(REST_SECONDS)
    return rest


def seen(cloud: Cloud, hypervisors: bool = False) -> adapter.Look:
    """A look at a cloud while nothing happens."""
    cloud.wait(1)
    observed = Observed(cloud.now)
    for _ in looked(cloud, observed, hypervisors):
        pass
    return adapter.Look(observed)


def repaired(cloud: Cloud, hypervisors: bool = False) -> adapter.Look:
    """Look twice, plan and apply; the look at what is left."""
    first = seen(cloud, hypervisors)
    cloud.wait(BETWEEN_LOOKS_SECONDS)
    plan = adapter.planned(first, seen(cloud, hypervisors), cloud)
    for _ in adapter.applied(plan, cloud, lambda step: None):
        pass
    return seen(cloud, hypervisors)


def wrong_consumers(cloud: Cloud) -> dict[str, frozenset[str]]:
    """The consumers that hold what is not right, of servers that Nova is not at work on, each with
    the names that a finding of it may have.
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
    """The uuids that a finding about this consumer may be of: its own, and its server's."""
    server = cloud.server_of(consumer)
    return frozenset({consumer, server.uuid} if server else {consumer})
