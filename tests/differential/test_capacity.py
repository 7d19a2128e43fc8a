# SPDX-License-Identifier: Apache-2.0
"""As many servers boot as capacity says: on Trueup's service and on upstream's.

Forests of the shapes that clouds have, and requests to them. A boot is what Nova does: ask for
candidates, take one of the next host in the order of filling, claim it. It ends when neither
service has a candidate for any host.
"""

import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import pytest

from tests.differential.calls import Absent, Draft
from tests.differential.forests import NEWEST, draw_question, plant
from tests.differential.pair import Pair, TwinFactory
from trueup.capacity.asked import Asked
from trueup.capacity.counting import fill, ground
from trueup.capacity.mixing import Portion, fill_with
from trueup.capacity.places import Place
from trueup.model.requests import CandidateRequest
from trueup.placement.api.versions import NEWEST as NEWEST_VERSION
from trueup.placement.api.wire import candidates
from trueup.reconcile.facts import (
    ComputeNode,
    ComputeService,
    Coverage,
    Facts,
    HostMapping,
)
from trueup.reconcile.sources.placement.database import PlacementDatabase

EXAMPLES = os.environ.get("TRUEUP_EXAMPLES")
FORESTS, QUESTIONS_TO_A_FOREST = 8, 6
TRAITS = ("CUSTOM_FAST", "CUSTOM_SMALL")
MOMENT, CELL = datetime(2026, 11, 26), "a-cell"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("boots")


@pytest.fixture(scope="module")
def twins(folder: Path) -> TwinFactory:
    return TwinFactory(
        folder, [Draft("PUT", f"/traits/{name}", NEWEST, Absent()) for name in TRAITS]
    )


def facts_in(url: str) -> Facts:
    """A cloud whose hosts are the roots of a ledger that share with nobody, each up."""
    database = PlacementDatabase(url)
    ledger = database.ledger()
    database.close()
    roots = [one for one in ledger.providers.values() if one.parent is None and not one.sharing]
    names = [one.name for one in roots]
    return Facts(
        taken_at=MOMENT,
        coverage=Coverage(()),
        cells={CELL: "cell1"},
        providers=ledger.providers,
        consumers=ledger.consumers,
        compute_nodes=tuple(ComputeNode(one.uuid, CELL, one.name, one.name) for one in roots),
        services=tuple(
            ComputeService(CELL, name, forced_down=False, last_seen=MOMENT) for name in names
        ),
        host_mappings=tuple(HostMapping(name, CELL) for name in names),
    )


def test_as_many_servers_boot_as_are_said(folder: Path, twins: TwinFactory) -> None:
    """As many seeds as TRUEUP_EXAMPLES says, and other ones in each run; else always the same."""
    first = random.randrange(2**40) if EXAMPLES else 0
    booted = 0
    for seed in range(first, first + int(EXAMPLES or FORESTS)):
        cloud, drafts = draw_question(random.Random(seed), QUESTIONS_TO_A_FOREST)
        larger = [
            replace(one, totals={name: 2 * total for name, total in one.totals.items()})
            for one in cloud
        ]
        with twins.pair(in_use=True) as pair:
            for name in ("upstream", "trueup"):
                plant(folder / f"{name}.sqlite", larger)
            # Each question finds what the boots before it have left.
            for draft in drafts:
                found = boot(pair, replace(draft, version=NEWEST))
                assert found.said == found.booted, f"seed {seed}: {draft.path} {larger}"
                booted += sum(found.booted)
    assert booted


def test_as_many_servers_of_a_mix_boot_as_are_said(folder: Path, twins: TwinFactory) -> None:
    """As many seeds as TRUEUP_EXAMPLES says, and other ones in each run; else always the same."""
    first = random.randrange(2**40) if EXAMPLES else 0
    booted = 0
    for seed in range(first, first + int(EXAMPLES or FORESTS)):
        source = random.Random(seed)
        cloud, drafts = draw_question(source, 2)
        larger = [
            replace(one, totals={name: 3 * total for name, total in one.totals.items()})
            for one in cloud
        ]
        with twins.pair(in_use=True) as pair:
            for name in ("upstream", "trueup"):
                plant(folder / f"{name}.sqlite", larger)
            numbers = [source.randint(1, 3) for _ in drafts]
            newest = [replace(draft, version=NEWEST) for draft in drafts]
            found = boot_mix(pair, newest, numbers)
            assert found.said == found.booted, f"seed {seed}: {drafts} {numbers} {larger}"
            booted += sum(found.booted)
    assert booted


@dataclass(frozen=True, slots=True)
class Boots:
    """Of each host in the order of filling: how many were said to fit, and how many booted."""

    said: list[int]
    booted: list[int]


def request_in(draft: Draft) -> CandidateRequest:
    pairs = parse_qsl(urlsplit(draft.path).query, keep_blank_values=True)
    return candidates.parse(pairs, NEWEST_VERSION)


def claim(pair: Pair, chosen: Any) -> str:
    """A new consumer claims a candidate; its uuid."""
    consumer = str(uuid4())
    body = {
        "allocations": chosen, "project_id": "p", "user_id": "u",
        "consumer_generation": None, "consumer_type": "INSTANCE",
    }  # fmt: skip
    assert pair.answer(Draft("PUT", f"/allocations/{consumer}", NEWEST, body)).status == 204
    return consumer


def boot_mix(pair: Pair, drafts: Sequence[Draft], numbers: Sequence[int]) -> Boots:
    """Boot servers in turn, each on the first host that has a candidate, until one has none."""
    facts = facts_in(pair.our_database_url)
    requests = [request_in(draft) for draft in drafts]
    prepared = ground(facts, requests)
    mix = [
        Portion(Asked(str(number), request), count)
        for number, (request, count) in enumerate(zip(requests, numbers, strict=True))
    ]
    hosts = [place for place, _ in prepared.hosts]
    said = [share.on for share in fill_with(mix, prepared, prepared.hosts)]
    booted = [Counter[Place]() for _ in mix]
    turns = [number for number, portion in enumerate(mix) for _ in range(portion.number)]
    for number in cycle(turns):
        body = pair.answer(drafts[number]).body
        found = ((host, first_on(host.provider, body, requests[number], facts)) for host in hosts)
        host, chosen = next((one for one in found if one[1]), (None, None))
        if host is None:
            break
        claim(pair, chosen)
        booted[number][host] += 1
    return Boots(*([of[host] for of in each for host in hosts] for each in (said, booted)))


def boot(pair: Pair, draft: Draft) -> Boots:
    facts = facts_in(pair.our_database_url)
    request = request_in(draft)
    prepared = ground(facts, [request])
    said = [one.count for one in fill(Asked("a server", request), prepared)]
    booted = []
    for place, _ in prepared.hosts:
        count = 0
        while chosen := first_on(place.provider, pair.answer(draft).body, request, facts):
            claim(pair, chosen)
            count += 1
        booted.append(count)
    return Boots(said, booted)


def first_on(root: str, body: Any, request: CandidateRequest, facts: Facts) -> Any:
    """The allocations of the candidate of a host whose providers come first, part after part."""
    of_host = [
        one
        for one in body["allocation_requests"]
        if any(facts.providers[uuid].root == root for uuid in one["allocations"])
    ]
    places = {uuid: number for number, uuid in enumerate(facts.providers)}
    ranked = [(ranks(one, request, places), one["allocations"]) for one in of_host]
    return min(ranked, key=lambda one: one[0])[1] if ranked else None


def ranks(candidate: Any, request: CandidateRequest, places: dict[str, int]) -> list[int]:
    """Which provider gives each part: by suffix, and without one by class."""
    left = {uuid: dict(row["resources"]) for uuid, row in candidate["allocations"].items()}
    groups = {group.suffix: group for group in request.groups}
    found = []
    for suffix in sorted(groups.keys() - {""}):
        [uuid] = candidate["mappings"][suffix]
        found.append(places[uuid])
        for name, amount in groups[suffix].resources:
            left[uuid][name] -= amount
    plain = sorted(name for name, _ in groups[""].resources) if "" in groups else []
    return [
        *(places[uuid] for name in plain for uuid, row in left.items() if row.get(name)),
        *found,
    ]
