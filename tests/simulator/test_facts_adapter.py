# SPDX-License-Identifier: Apache-2.0
"""The simulator's facts equal those that `collect` reads from databases with the same rows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.simulator.cloud import Cloud
from tests.simulator.databases import Databases, databases
from tests.simulator.facts_adapter import facts_of
from tests.simulator.generating import READ, history
from tests.simulator.observing import Observed, observe
from tests.simulator.running import play
from trueup.reconcile.collect import collect
from trueup.reconcile.facts import Facts
from trueup.reconcile.sources.connect import from_nova_conf

SEEDS = range(24)
UNLIKE = {"without-dashes", "wrong-mapping", "lose-node", "delete-service", "hide-ports"}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    with databases(tmp_path_factory.mktemp("simulated")) as made:
        yield made


@pytest.mark.parametrize("seed", SEEDS)
def test_facts_are_those_of_a_collect_from_databases(seed, stored):
    cloud = simulated(seed)
    stored.hold(cloud)
    connected = from_nova_conf(stored.nova_conf)
    try:
        collected = collect(connected, lambda *_: None)
    finally:
        connected.close()
    seen = Observed(cloud.now)
    for _ in observe(cloud, seen):
        pass
    assert compared(facts_of(seen)) == compared(collected)


def simulated(seed: int) -> Cloud:
    """A cloud in the middle of a history."""
    cloud = Cloud()
    for event in history(seed):
        # Placement's API writes uuids of consumers with dashes. A cell without instances to which
        # one is mapped counts as lost. Providers are not deleted here, and there is no Neutron.
        told = {event.verb, *event.words}
        if event.verb != READ.verb and not UNLIKE & told:
            play((event,), cloud, [])
    return cloud


def compared(facts: Facts) -> dict[str, Any]:
    """Everything that both know, in a fixed order."""
    return {
        "complete": facts.coverage.complete,
        "silent": {source.source for source in facts.coverage.missing},
        "cells": facts.cells,
        "consumers": facts.consumers,
        "instances": ordered(replace(row, image=None) for row in facts.instances),
        "migrations": ordered(facts.migrations),
        "nodes": ordered((row.uuid, row.cell, row.host, row.node) for row in facts.compute_nodes),
        "services": ordered(
            (row.cell, row.host, row.forced_down, row.last_seen, row.disabled)
            for row in facts.services
        ),
        "builds": {row.instance for row in facts.build_requests},
        "host mappings": ordered(facts.host_mappings),
        "aggregates": ordered((row.uuid, row.name, row.hosts) for row in facts.host_aggregates),
        "instance mappings": ordered(facts.instance_mappings),
        "providers": ordered(
            (row.uuid, row.name, row.root, row.parent, row.sharing, sorted(row.shares_with),
             row.inventories, row.traits, row.aggregates) for row in facts.providers.values()
        ),
    }  # fmt: skip


def ordered(rows: Any) -> list[Any]:
    return sorted(rows, key=repr)
