# SPDX-License-Identifier: Apache-2.0
import numpy as np

from tests.placement.client import Client
from tests.placement.index.clouds import SHARES, Host, ask, group, view_of
from trueup.model.candidates import ProviderSummary
from trueup.placement.index.match import Slot
from trueup.placement.index.summarize import candidate_of, giving, of_trees, summarize

CLOUD = [
    Host("host", {"VCPU": 8, "DISK_GB": 9}, traits=("RED", "FAST"), used={"VCPU": 3}),
    Host("numa", {"PGPU": 2}, "host"),
    Host("slice", parent="numa"),
    Host("other", {"VCPU": 4}, traits=(SHARES,)),
]
VIEW = view_of(CLOUD)
HOST, NUMA, SLICE, OTHER = (VIEW.forest.by_uuid[host.name] for host in CLOUD)


def slot(suffix: str, **resources: int) -> Slot:
    nobody = np.empty(0, dtype=np.int64)
    return Slot(suffix, tuple(resources.items()), nobody, nobody)


def test_a_summary_has_all_that_there_is_about_a_provider() -> None:
    """Traits come in the order of their ids, whatever order they were given in."""
    assert summarize([NUMA, HOST], VIEW) == (
        ProviderSummary("host", "host", None, ("FAST", "RED"), {"VCPU": (8, 3), "DISK_GB": (9, 0)}),
        ProviderSummary("numa", "host", "host", (), {"PGPU": (2, 0)}),
    )
    assert summarize([], VIEW) == ()


def test_a_provider_without_anything_is_shown_too() -> None:
    assert summarize([SLICE], VIEW) == (ProviderSummary("slice", "host", "numa", (), {}),)


def test_one_provider_of_a_tree_stands_for_all_of_it() -> None:
    assert of_trees([SLICE], VIEW) == {HOST, NUMA, SLICE}
    assert of_trees([NUMA, OTHER], VIEW) == {HOST, NUMA, SLICE, OTHER}
    assert of_trees([], VIEW) == set()


def test_what_several_groups_take_of_one_place_adds_up() -> None:
    slots = [slot("", VCPU=1), slot("", DISK_GB=2), slot("_A", VCPU=2, DISK_GB=1)]
    found = candidate_of((HOST, HOST, HOST), slots, VIEW)
    assert found.amounts == {("host", "VCPU"): 3, ("host", "DISK_GB"): 3}
    assert found.mappings == {"": ("host",), "_A": ("host",)}


def test_a_group_without_suffix_may_be_satisfied_by_several() -> None:
    found = candidate_of((OTHER, HOST), [slot("", VCPU=1), slot("", DISK_GB=2)], VIEW)
    assert found.amounts == {("other", "VCPU"): 1, ("host", "DISK_GB"): 2}
    assert found.mappings == {"": ("other", "host")}


def test_who_only_has_to_be_there_gives_nothing() -> None:
    slots = [slot("_NODE"), slot("_GPU", PGPU=1)]
    assert giving((HOST, NUMA), slots) == {NUMA}
    found = candidate_of((HOST, NUMA), slots, VIEW)
    assert found.amounts == {("numa", "PGPU"): 1}
    assert found.mappings == {"_NODE": ("host",), "_GPU": ("numa",)}


def test_trees_that_no_candidate_uses_are_not_shown() -> None:
    shown = ask(CLOUD, group(PGPU=1)).summaries
    assert [one.uuid for one in shown] == ["host", "numa", "slice"]


def test_capacity_is_in_whole_units(client: Client) -> None:
    half = {"total": 4, "reserved": 1, "allocation_ratio": 1.5}
    uuid = client.make_provider(1, inventories={"VCPU": half})
    client.claim(100, {1: {"VCPU": 1}})
    shown = client.get("/allocation_candidates?resources=VCPU:3").json["provider_summaries"]
    assert shown[uuid]["resources"] == {"VCPU": {"capacity": 4, "used": 1}}
    assert client.get("/allocation_candidates?resources=VCPU:4").json["provider_summaries"] == {}
