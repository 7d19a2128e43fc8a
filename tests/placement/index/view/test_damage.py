# SPDX-License-Identifier: Apache-2.0
"""A view that is wrong by itself is told from one that lacks the writes of other services."""

import random
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.placement.client import UUID, Client
from tests.servers.placement import NOAUTH
from tests.servers.upstream import create_tables, make_app
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.differences import differences
from trueup.placement.index.view.foreign_writes import NEVER, Comparison, compare
from trueup.placement.index.view.refresh import load, refresh
from trueup.placement.store.engine import changes


def _first(view: View, **columns: Any) -> View:
    inventory = replace(view.inventories["VCPU"], **columns)
    return replace(view, inventories={**view.inventories, "VCPU": inventory})


DAMAGES: dict[str, Callable[[View], View]] = {
    "usage": lambda view: _first(view, used=view.inventories["VCPU"].used - 1),
    "inventory": lambda view: _first(view, marks=np.roll(view.inventories["VCPU"].marks, 1)),
    "traits": lambda view: replace(view, traits_of={}, providers_by_trait={}),
    "tree": lambda view: replace(view, forest=replace(view.forest, root_ids=view.forest.ids)),
    "members": lambda view: replace(view, providers_by_aggregate={}),
    "generations": lambda view: replace(view, generations=view.generations - 1),
}
ALSO_AFTER_WRITES = ("usage", "inventory", "traits")


@pytest.fixture
def cloud(client: Client) -> Client:
    client.make_provider(1, inventories={"VCPU": 8}, aggregates=(50,))
    client.make_provider(2, 1, inventories={"VCPU": 16}, traits=("HW_CPU_X86_AVX",))
    client.make_provider(3, inventories={"VCPU": 8})
    client.claim(100, {1: {"VCPU": 2}, 2: {"VCPU": 3}})
    return client


class Worker:
    """Follows the changes and compares, as a process does."""

    def __init__(self, client: Client):
        self._database, self._compared = client.application.database, NEVER
        with self._database.reading(snapshot=True) as tx:
            self.view, self._vector = load(tx), changes.vector(tx)
        self.compare()

    def compare(self) -> frozenset[str]:
        """The damage that was found; the view is right afterwards."""
        with self._database.reading(snapshot=True) as tx:
            news = changes.news(tx, self._vector)
            followed = refresh(tx, self.view, news.changed)
            self._vector = news.vector
            found: Comparison = compare(tx, followed, news.vector, self._compared)
            self.view, self._compared = found.view, found.compared
            assert differences(self.view, load(tx)) == []
        return found.damaged


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_found_while_nobody_writes(cloud: Client, what: str) -> None:
    worker = Worker(cloud)
    assert worker.compare() == frozenset()
    worker.view = DAMAGES[what](worker.view)
    assert worker.compare()
    assert worker.compare() == frozenset()


@pytest.mark.parametrize("what", ALSO_AFTER_WRITES)
def test_damage_is_found_while_others_are_claimed(cloud: Client, what: str) -> None:
    worker = Worker(cloud)
    worker.view = DAMAGES[what](worker.view)
    cloud.claim(101, {3: {"VCPU": 1}})
    assert worker.compare() & {UUID(1), UUID(2)}


@pytest.mark.parametrize("seed", range(4))
def test_no_write_of_upstream_looks_like_damage(
    tmp_path: Path, serve: Callable[..., Client], seed: int
) -> None:
    """Both services write to the same providers, so that claims of ours hide writes of upstream."""
    url, source = f"sqlite:///{tmp_path / 'shared.sqlite'}", random.Random(seed)
    create_tables(url)
    ours = serve(url)
    with closing(make_app(url, NOAUTH)) as upstream:
        theirs = Client(upstream)
        for number in (1, 2):
            ours.make_provider(number, inventories={"VCPU": 64})
        worker = Worker(ours)
        for turn in range(100):
            _write(source.choice((ours, theirs)), source.choice((1, 2)), source)
            if turn % source.choice((1, 2, 3)) == 0:
                assert worker.compare() == frozenset()


def _write(client: Client, host: int, source: random.Random) -> None:
    path = f"/resource_providers/{UUID(host)}"
    generation = client.get(path).json["generation"]
    known = {"resource_provider_generation": generation}
    consumer = source.choice(range(100, 104))
    match source.choice(("claim", "claim", "claim", "release", "inventory", "traits", "groups")):
        case "claim":
            held = client.get(f"/allocations/{UUID(consumer)}").json.get("consumer_generation")
            client.claim(consumer, {host: {"VCPU": source.randint(1, 4)}}, held)
        case "release":
            client.delete(f"/allocations/{UUID(consumer)}")
        case "inventory":
            stock = {"VCPU": {"total": source.randint(60, 70)}}
            client.put(f"{path}/inventories", {**known, "inventories": stock})
        case "traits":
            names = source.sample(["HW_CPU_X86_AVX", "HW_CPU_X86_SSE", "HW_CPU_X86_SSE2"], 2)
            client.put(f"{path}/traits", {**known, "traits": names})
        case "groups":
            groups = [UUID(source.choice((50, 51)))]
            client.put(f"{path}/aggregates", groups, version="1.18")
