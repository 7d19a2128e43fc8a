# SPDX-License-Identifier: Apache-2.0
"""The facts that the simulator makes are those that a collect gives which reads its databases."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.simulator.cloud import Cloud
from tests.simulator.databases import Databases, databases
from tests.simulator.facts_adapter import facts_of
from tests.simulator.generating import READ, history
from tests.simulator.observing import Observed, looked
from tests.simulator.running import played
from trueup.reconcile.collect import collect
from trueup.reconcile.facts import Facts
from trueup.reconcile.sources.connect import from_nova_conf

SEEDS = range(24)


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
    for _ in looked(cloud, seen):
        pass
    assert compared(facts_of(seen)) == compared(collected)


def simulated(seed: int) -> Cloud:
    """A cloud in the middle of what happens to it."""
    cloud = Cloud()
    for event in history(seed):
        # Over Placement's API a consumer's uuid has its dashes.
        if event != READ and "without-dashes" not in event.words:
            played((event,), cloud, [])
    return cloud


def compared(facts: Facts) -> dict[str, Any]:
    """All that both ways can know, in an order of its own."""
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
