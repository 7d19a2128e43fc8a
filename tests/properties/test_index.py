# SPDX-License-Identifier: Apache-2.0
"""Invariant 4: `load` and any sequence of `refresh` give the same columns."""

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from tests.placement.client import UUID, Client, claim
from tests.placement.conftest import TRUSTING
from tests.placement.index.views import true_view
from trueup.model.candidates import Candidates
from trueup.model.requests import CandidateRequest
from trueup.placement.api.versions import V
from trueup.placement.api.wire.candidate_answers import render
from trueup.placement.api.wire.summary_cache import SummaryCache
from trueup.placement.app import make_app
from trueup.placement.index.current import Index
from trueup.placement.index.search.summaries import summaries_of
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.differences import differences
from trueup.placement.store import schema

PROVIDERS, CONSUMERS, AGGREGATES = range(1, 6), range(100, 103), (50, 51)
CLASSES = ("VCPU", "DISK_GB", "CUSTOM_ONE")
TRAITS = ("MISC_SHARES_VIA_AGGREGATE", "HW_CPU_X86_AVX", "CUSTOM_RED")

providers, consumers = st.sampled_from(PROVIDERS), st.sampled_from(CONSUMERS)
classes, traits = st.sampled_from(CLASSES), st.sampled_from(TRAITS)
some_traits = st.sets(traits).map(sorted)
amounts = st.dictionaries(classes, st.integers(1, 3), min_size=1, max_size=2)
places = st.dictionaries(providers, amounts, max_size=2)
stocks = st.dictionaries(classes, st.integers(4, 6), max_size=3).map({"VCPU": 9}.__or__)
WRITES = st.one_of(
    st.tuples(st.just("make"), providers, st.one_of(st.none(), providers)),
    st.tuples(st.just("move"), providers, st.one_of(st.none(), providers)),
    st.tuples(st.just("remove"), providers),
    st.tuples(st.just("stock"), providers, stocks),
    st.tuples(st.just("mark"), providers, some_traits),
    st.tuples(st.just("join"), providers, st.sets(st.sampled_from(AGGREGATES)), st.booleans()),
    st.tuples(st.just("claim"), consumers, places),
    st.tuples(st.just("release"), consumers),
    st.tuples(st.just("name"), st.sampled_from(["PUT", "DELETE"]), classes | traits),
    st.tuples(st.just("rename"), st.sampled_from(["CUSTOM_ONE", "CUSTOM_TWO"])),
    st.tuples(st.just("reshape"), providers, providers, consumers, amounts),
)


class Cloud:
    """A service, what may be written through it, and indexes over the same database."""

    def __init__(self, client: Client):
        self.client = client
        database = client.application.database
        self.eager, self.lazy = Index(database), Index(database)
        for index in (self.eager, self.lazy):
            index.view()

    def write(self, what: str, *words: Any) -> None:
        getattr(self, what)(*words)

    def make(self, number: int, parent: int | None) -> None:
        above = {} if parent is None else {"parent_provider_uuid": UUID(parent)}
        self.client.post("/resource_providers", {"uuid": UUID(number), "name": f"{number}"} | above)
        self.stock(number, {"VCPU": 6})

    def move(self, number: int, parent: int | None) -> None:
        body = {"name": f"{number}", "parent_provider_uuid": parent and UUID(parent)}
        self.client.put(f"/resource_providers/{UUID(number)}", body)

    def remove(self, number: int) -> None:
        self.client.delete(f"/resource_providers/{UUID(number)}")

    def stock(self, number: int, totals: dict[str, int]) -> None:
        body = self._stocked(number, totals)
        self.client.put(f"/resource_providers/{UUID(number)}/inventories", body)

    def mark(self, number: int, names: Sequence[str]) -> None:
        body = {"resource_provider_generation": self._generation(number), "traits": list(names)}
        self.client.put(f"/resource_providers/{UUID(number)}/traits", body)

    def join(self, number: int, groups: set[int], is_old: bool) -> None:
        wanted: Any = [UUID(one) for one in sorted(groups)]
        if not is_old:
            generation = self._generation(number)
            wanted = {"resource_provider_generation": generation, "aggregates": wanted}
        path = f"/resource_providers/{UUID(number)}/aggregates"
        self.client.put(path, wanted, version="1.18" if is_old else "1.39")

    def claim(self, consumer: int, held: dict[int, dict[str, int]]) -> None:
        self.client.claim(consumer, held, self._consumer_generation(consumer))

    def release(self, consumer: int) -> None:
        self.client.delete(f"/allocations/{UUID(consumer)}")

    def name(self, method: str, name: str) -> None:
        kind = "resource_classes" if name in CLASSES else "traits"
        self.client.send(method, f"/{kind}/{name}")

    def rename(self, name: str) -> None:
        body = {"name": "CUSTOM_TWO" if name == "CUSTOM_ONE" else "CUSTOM_ONE"}
        self.client.put(f"/resource_classes/{name}", body, version="1.6")

    def reshape(self, one: int, other: int, consumer: int, held: dict[str, int]) -> None:
        taken = claim({other: held}, self._consumer_generation(consumer))
        inventories = {
            UUID(one): self._stocked(one, {}),
            UUID(other): self._stocked(other, dict.fromkeys(held, 6)),
        }
        body = {"inventories": inventories, "allocations": {UUID(consumer): taken}}
        self.client.post("/reshaper", body, headers={"x-roles": "admin,service"})

    def _stocked(self, number: int, totals: dict[str, int]) -> dict[str, Any]:
        return {
            "resource_provider_generation": self._generation(number),
            "inventories": {name: {"total": total} for name, total in totals.items()},
        }

    def _generation(self, number: int) -> int:
        shown = self.client.get(f"/resource_providers/{UUID(number)}").json
        return int(shown.get("generation", 0))

    def _consumer_generation(self, consumer: int) -> int | None:
        shown = self.client.get(f"/allocations/{UUID(consumer)}").json
        generation: int | None = shown.get("consumer_generation")
        return generation


def rendered(view: View, cache: SummaryCache) -> Any:
    """The summaries of all providers, as an answer has them."""
    summaries = summaries_of(np.arange(len(view.forest)), view)
    answer = render(Candidates(summaries), CandidateRequest(()), max(V), cache)
    return orjson.loads(answer.joined())["provider_summaries"]


def furnish(client: Client) -> None:
    """Some rows of each kind, so that few of the writes are refused."""
    for name in ("CUSTOM_ONE", "CUSTOM_RED"):
        client.put(f"/{'resource_classes' if name in CLASSES else 'traits'}/{name}")
    stock = {"VCPU": 9, "DISK_GB": 9}
    client.make_provider(1, inventories=stock, traits=("HW_CPU_X86_AVX",), aggregates=(50,))
    client.make_provider(2, 1, inventories=stock, traits=("CUSTOM_RED",))
    client.make_provider(3, inventories=stock, aggregates=(50, 51))
    client.make_provider(4, inventories={"DISK_GB": 9}, traits=TRAITS[:1], aggregates=(51,))
    client.claim(100, {1: {"VCPU": 2}, 2: {"DISK_GB": 1}})
    client.claim(101, {3: {"VCPU": 1}})


@pytest.fixture(scope="module")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Any]:
    """`with clouds() as cloud`: a new cloud for each example."""
    folder = tmp_path_factory.mktemp("clouds")
    template = folder / "template.sqlite"
    schema.create(f"sqlite:///{template}")
    with closing(make_app(f"sqlite:///{template}", TRUSTING)) as application:
        furnish(Client(application))
    numbers = count(1)

    def new() -> Any:
        path = Path(folder / f"{next(numbers)}.sqlite")
        path.write_bytes(template.read_bytes())
        return closing(make_app(f"sqlite:///{path}", TRUSTING))

    return new


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(WRITES, st.booleans()), min_size=4, max_size=12))
def test_invariant_4_refresh_gives_what_load_gives(
    clouds: Callable[[], Any], writes: list[tuple[tuple[Any, ...], bool]]
) -> None:
    with clouds() as application:
        cloud, cache = Cloud(Client(application)), SummaryCache()
        for write, looks in writes:
            cloud.write(*write)
            loaded = true_view(cloud.client)
            for index in (cloud.eager, cloud.lazy) if looks else (cloud.eager,):
                assert differences(index.view(), loaded) == []
                assert rendered(index.view(), cache) == rendered(loaded, SummaryCache())
