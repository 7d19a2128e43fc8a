# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np

from tests.placement.client import Client
from tests.placement.index.answers import summaries
from tests.placement.index.clouds import SHARES, Host, ask, group, view_of
from trueup.model.candidates import Candidates
from trueup.placement.index.search.match import Offers, Slot
from trueup.placement.index.search.summaries import providers_used, summaries_of
from trueup.placement.index.view.build import build
from trueup.placement.store.reads.ledger_rows import LedgerRows, Names, ProviderRow

CLOUD = [
    Host("host", {"VCPU": 8, "DISK_GB": 9}, traits=("RED", "FAST"), used={"VCPU": 3}),
    Host("numa", {"PGPU": 2}, "host"),
    Host("slice", parent="numa"),
    Host("other", {"VCPU": 4}, traits=(SHARES,)),
]
VIEW = view_of(CLOUD)
HOST, NUMA, SLICE, OTHER = (VIEW.forest.by_uuid[host.name] for host in CLOUD)
NO_PROVIDERS = np.empty(0, dtype=np.int64)


def described(*used: int, whole_trees: bool = True) -> dict:
    positions = np.array(sorted(used), dtype=np.int64)
    return summaries(Candidates(summaries_of(positions, VIEW, whole_trees)))


def test_a_summary_has_everything_about_a_provider() -> None:
    """Traits come in the order of their ids, whatever order they were given in."""
    assert described(NUMA, HOST, whole_trees=False) == {
        "host": {
            "root": "host",
            "parent": None,
            "traits": ("FAST", "RED"),
            "resources": {"VCPU": (8, 3), "DISK_GB": (9, 0)},
        },
        "numa": {"root": "host", "parent": "host", "traits": (), "resources": {"PGPU": (2, 0)}},
    }
    assert described(whole_trees=False) == {}


def test_a_provider_without_anything_is_shown_too() -> None:
    bare = {"root": "host", "parent": "numa", "traits": (), "resources": {}}
    assert described(SLICE, whole_trees=False) == {"slice": bare}


def test_one_provider_stands_for_its_whole_tree() -> None:
    assert set(described(SLICE)) == {"host", "numa", "slice"}
    assert set(described(NUMA, OTHER)) == {"host", "numa", "slice", "other"}
    assert described() == {}


def test_a_provider_whose_root_row_is_wrong_is_shown_too() -> None:
    """It names the root of another tree, and has no parent in it."""
    rows = [ProviderRow(1, "host", 1, None), ProviderRow(2, "odd", 1, None)]
    view = build(LedgerRows(Names(), [*rows, ProviderRow(3, "numa", 1, 1)]))
    used = np.array([view.forest.by_uuid["odd"]])
    assert {"odd", "host"} <= summaries(Candidates(summaries_of(used, view))).keys()


def test_providers_of_slots_without_resources_are_not_used() -> None:
    slots = [Slot(suffix, held, Offers(NO_PROVIDERS, NO_PROVIDERS)) for suffix, held in PARTS]
    columns = (np.array([HOST, OTHER]), np.array([NUMA, NUMA]))
    assert providers_used(columns, slots, VIEW).tolist() == [NUMA]
    assert providers_used((NO_PROVIDERS, NO_PROVIDERS), slots, VIEW).tolist() == []


PARTS = (("_NODE", ()), ("_GPU", (("PGPU", 1),)))


def test_trees_that_no_candidate_uses_are_not_shown() -> None:
    assert set(summaries(ask(CLOUD, group(PGPU=1)))) == {"host", "numa", "slice"}


def test_any_number_of_classes_may_differ_between_providers() -> None:
    view = view_of(Host(f"host{number}", {"VCPU": number}) for number in range(100))
    columns = ("positions", "capacity", "used", "min_units", "max_units", "step_sizes")
    of_all = view.inventories["VCPU"]
    inventories = {
        f"CUSTOM_{number}": replace(
            of_all, **{name: getattr(of_all, name)[number : number + 1] for name in columns}
        )
        for number in range(100)
    }
    shown = summaries_of(np.arange(100), replace(view, inventories=inventories))
    described_by_uuid = summaries(Candidates(shown))
    assert len(described_by_uuid) == 100
    for uuid, one in described_by_uuid.items():
        number = int(uuid.removeprefix("host"))
        assert one["resources"] == {f"CUSTOM_{number}": (number, 0)}


def test_capacity_is_in_whole_units(client: Client) -> None:
    half = {"total": 4, "reserved": 1, "allocation_ratio": 1.5}
    uuid = client.make_provider(1, inventories={"VCPU": half})
    client.claim(100, {1: {"VCPU": 1}})
    shown = client.get("/allocation_candidates?resources=VCPU:3").json["provider_summaries"]
    assert shown[uuid]["resources"] == {"VCPU": {"capacity": 4, "used": 1}}
    assert client.get("/allocation_candidates?resources=VCPU:4").json["provider_summaries"] == {}


def test_a_ratio_may_make_more_of_it_than_64_bits_hold(client: Client) -> None:
    """Upstream calculates with Python's integers, too."""
    uuid = client.make_provider(1, inventories={"VCPU": {"total": 8, "allocation_ratio": 1e30}})
    client.claim(100, {1: {"VCPU": 1}})
    for query in ("resources=VCPU:1", "resources_A=VCPU:1&resources_B=VCPU:1&group_policy=none"):
        answer = client.get(f"/allocation_candidates?{query}").json
        shown = answer["provider_summaries"][uuid]["resources"]
        assert shown == {"VCPU": {"capacity": int(8e30), "used": 1}}
        assert len(answer["allocation_requests"]) == 1
