# SPDX-License-Identifier: Apache-2.0
"""What if: as many servers boot on both services as was said, once it is done.

Every assumption is made of one forest, and done in another one, which is planted so.
"""

import os
import random
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.differential.calls import Absent, Draft
from tests.differential.forests import NEWEST, draw_question, plant
from tests.differential.pair import Pair, TwinFactory
from tests.differential.test_capacity import TRAITS, claim, facts_in, first_on, request_in
from tests.placement.index.clouds import SHARES, Host
from trueup.capacity.asked import Asked
from trueup.capacity.counting import fill, ground
from trueup.capacity.what_if import WhatIf, assumed

EXAMPLES = os.environ.get("TRUEUP_EXAMPLES")
FORESTS = 3
_OF_HOST = (
    " WHERE resource_class_id = (SELECT id FROM resource_classes WHERE name = ?)"
    " AND resource_provider_id = (SELECT id FROM resource_providers WHERE name = ?)"
)
SET_RATIO = "UPDATE inventories SET allocation_ratio = ?" + _OF_HOST
SET_RESERVED = "UPDATE inventories SET reserved = ?" + _OF_HOST
KINDS = ("without", "with", "ratio", "reserved")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assumptions")


@pytest.fixture(scope="module")
def twins(folder: Path) -> TwinFactory:
    return TwinFactory(
        folder, [Draft("PUT", f"/traits/{name}", NEWEST, Absent()) for name in TRAITS]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_once_it_is_done_as_many_boot_as_were_said(
    kind: str, folder: Path, twins: TwinFactory
) -> None:
    """As many seeds as TRUEUP_EXAMPLES says, and other ones in each run; else always the same."""
    first = random.randrange(2**40) if EXAMPLES else 0
    booted = 0
    for seed in range(first, first + int(EXAMPLES or FORESTS)):
        source = random.Random(seed)
        cloud, [draft] = draw_question(source, 1)
        larger = [
            replace(one, totals={name: 2 * total for name, total in one.totals.items()})
            for one in cloud
        ]
        what, done = assumption(kind, larger, source)
        asked = replace(draft, version=NEWEST)
        with twins.pair(in_use=True) as pair:
            planted(folder, larger)
            said = counts(pair, asked, what)
        with twins.pair(in_use=True) as pair:
            planted(folder, done)
            change(folder, done, what)
            found = boots(pair, asked, what.without)
        assert said == found, f"seed {seed}: {draft.path} {what} {larger}"
        booted += sum(found.values())
    assert booted


def assumption(
    kind: str, cloud: Sequence[Host], source: random.Random
) -> tuple[WhatIf, Sequence[Host]]:
    """Something to assume about a forest, and the forest with the hosts that there are then."""
    hosts = [one.name for one in cloud if not one.parent and SHARES not in one.traits]
    chosen = source.choice(hosts)
    [name, *_] = sorted({name for one in cloud for name in one.totals}) or ["VCPU"]
    match kind:
        case "without":
            return WhatIf(without=(chosen,)), cloud
        case "with":
            return WhatIf(more={chosen: 2}), (
                *cloud,
                *(one for number in (1, 2) for one in copies(cloud, chosen, f"+{number}")),
            )
        case "ratio":
            return WhatIf(ratios={name: source.choice((0.5, 1.5, 3.0))}), cloud
    return WhatIf(reserved={name: source.randint(1, 5)}), cloud


def copies(cloud: Sequence[Host], root: str, mark: str) -> Sequence[Host]:
    """The tree of a host once more, with nothing on it. Names begin with that of the root."""

    def marked(name: str) -> str:
        return name.replace(root, root + mark, 1)

    return [
        replace(
            one,
            name=marked(one.name),
            parent=marked(one.parent) if one.parent else None,
            used={},
        )
        for one in cloud
        if one.name.partition("_")[0] == root
    ]


def planted(folder: Path, cloud: Sequence[Host]) -> None:
    for name in ("upstream", "trueup"):
        plant(folder / f"{name}.sqlite", cloud)


def change(folder: Path, cloud: Sequence[Host], what: WhatIf) -> None:
    """Give the inventories of hosts, and not those of pools, what is assumed of their class."""
    pools = {one.name for one in cloud if SHARES in one.traits}
    hosts = [one.name for one in cloud if one.name.partition("_")[0] not in pools]
    for name in ("upstream", "trueup"):
        with sqlite3.connect(folder / f"{name}.sqlite") as rows:
            for statement, values in ((SET_RATIO, what.ratios), (SET_RESERVED, what.reserved)):
                pairs = [(value, one, host) for one, value in values.items() for host in hosts]
                rows.executemany(statement, pairs)
        rows.close()


def counts(pair: Pair, draft: Draft, what: WhatIf) -> dict[str, int]:
    """By host: how many more are said to fit under this assumption."""
    request = request_in(draft)
    prepared = ground(assumed(facts_in(pair.our_database_url), what), [request])
    found = fill(Asked("a server", request), prepared)
    return {
        place.host: one.count
        for (place, _), one in zip(prepared.hosts, found, strict=True)
        if one.count
    }


def boots(pair: Pair, draft: Draft, without: Sequence[str]) -> dict[str, int]:
    """By host: how many boot, one host after the other, none on those that are gone."""
    facts, request = facts_in(pair.our_database_url), request_in(draft)
    found: dict[str, int] = {}
    for place, _ in ground(facts, [request]).hosts:
        if place.host in without:
            continue
        while chosen := first_on(place.provider, pair.answer(draft).body, request, facts):
            claim(pair, chosen)
            found[place.host] = found.get(place.host, 0) + 1
    return found
