# SPDX-License-Identifier: Apache-2.0
"""What is counted: flavors as the scheduler asks for them, and what nobody knows of them."""

from dataclasses import replace

import pytest

from tests.reconcile.expected.asking import flavor, instance
from tests.scenarios.reading import read_cloud
from trueup.capacity.asked import (
    Asked,
    Gap,
    NotAskable,
    as_far_as_read,
    asked_of,
    asked_of_amounts,
    asked_of_each,
    asked_of_instance,
    flavors_in_use,
    gaps_of,
    traits_wanted,
)
from trueup.reconcile.facts import PLACEMENT, Coverage, NumaCell, NumaTopology, SourceStatus
from trueup.reconcile.reasons import because
from trueup.reconcile.report.reasons import in_words


def found(specs: dict[str, str]) -> Asked:
    asked = asked_of(flavor(specs), {})
    assert isinstance(asked, Asked)
    return asked


def test_a_flavor_is_asked_for_as_the_scheduler_does():
    asked = found({"resources1:CUSTOM_GPU": "1", "trait:CUSTOM_FAST": "required"})
    plain, gpu = asked.request.groups
    assert dict(plain.resources) == {"VCPU": 2, "MEMORY_MB": 256}
    assert plain.required == (frozenset({"CUSTOM_FAST"}),)
    assert (gpu.suffix, dict(gpu.resources)) == ("1", {"CUSTOM_GPU": 1})
    assert asked.request.root_forbidden == {"COMPUTE_STATUS_DISABLED"}
    assert (asked.numa, asked.gaps) == (None, frozenset())


@pytest.mark.parametrize(
    ("specs", "gap"),
    [
        ({"pci_passthrough:alias": "gpu:1"}, Gap.PCI_ALIAS),
        ({"accel:device_profile": "fpga"}, Gap.DEVICE_PROFILE),
        ({"capabilities:hypervisor_type": "QEMU"}, Gap.HOST_CAPABILITIES),
        ({"hw:maxphysaddr_bits": "46"}, Gap.HOST_CAPABILITIES),
        ({"aggregate_instance_extra_specs:ssd": "true"}, Gap.AGGREGATE_SPECS),
        ({"ssd": "true"}, Gap.AGGREGATE_SPECS),
    ],
)
def test_what_nobody_knows_is_named(specs, gap):
    assert found(specs).gaps == {gap}


def test_a_flavor_that_nova_refuses_is_not_counted():
    asked = asked_of(flavor({"hw:cpu_policy": "odd"}), {})
    assert asked == NotAskable("a-flavor", because("cpu-policy-unknown", policy="odd"))


@pytest.mark.parametrize("count", ["0", "-1"])
def test_as_many_numa_cells_as_nova_refuses(count):
    assert isinstance(asked_of(flavor({"hw:numa_nodes": count}), {}), NotAskable)


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        (dict.fromkeys(("resources:VCPU", "resources:MEMORY_MB"), "0"), "Badly formed resources"),
        ({"trait1:CUSTOM_FAST": "required"}, "Badly formed resources"),
        ({"resources1:CUSTOM_GPU": "1", "resources2:CUSTOM_GPU": "1"}, '"group_policy" parameter'),
    ],
)
def test_a_flavor_that_placement_refuses_is_not_counted(specs, said):
    asked = asked_of(flavor(specs), {})
    assert isinstance(asked, NotAskable)
    assert asked.reason.name == "placement-refuses-flavor"
    assert said in in_words(asked.reason)


def test_plain_amounts():
    asked = asked_of_amounts({"VCPU": 2}, ["CUSTOM_FAST"])
    assert asked.name == "VCPU=2,CUSTOM_FAST"
    assert traits_wanted([asked]) == {"CUSTOM_FAST"}


def test_over_the_api_of_placement_only_the_traits_are_known_that_were_asked_for():
    facts = read_cloud("cell1\n  host h1 VCPU=8 up").facts()
    over_api = replace(facts, coverage=Coverage((SourceStatus(PLACEMENT, True, read_via="API"),)))
    asked = asked_of_amounts({"VCPU": 2}, ["CUSTOM_FAST"])
    assert gaps_of(asked, facts) == frozenset()
    plain = asked_of_amounts({"VCPU": 2})
    unread = as_far_as_read(asked, over_api)
    assert gaps_of(unread, over_api) == {Gap.TRAITS_NOT_READ}
    assert unread.request == plain.request
    read = replace(over_api, traits_read=frozenset({"CUSTOM_FAST"}))
    assert as_far_as_read(asked, read) == asked
    assert as_far_as_read(plain, over_api) == plain


def test_a_trait_that_was_not_read_keeps_no_server_away_from_another_host():
    facts = read_cloud("cell1\n  host h1 VCPU=8 up").facts()
    over_api = replace(facts, coverage=Coverage((SourceStatus(PLACEMENT, True, read_via="API"),)))
    row = instance(flavor=replace(instance().flavor, extra_specs={"trait:CUSTOM_FAST": "required"}))
    [unread] = asked_of_each([row], over_api).values()
    assert traits_wanted([unread]) == frozenset()
    assert gaps_of(unread, over_api) == {Gap.TRAITS_NOT_READ}


def test_of_an_instance_the_cells_count_that_it_was_given():
    topology = NumaTopology((NumaCell(0, (0,), (1, 2), 64, "mixed", page_size=4),))
    asked = asked_of_instance(instance(numa_topology=topology))
    assert isinstance(asked, Asked)
    # But of its pages the size that the flavor asks for.
    assert asked.numa == NumaTopology((NumaCell(0, (0,), (1, 2), 64, "mixed"),))


def test_an_instance_of_which_not_enough_is_known_is_not_placed():
    assert isinstance(asked_of_instance(instance(flavor=None)), NotAskable)
    unreadable = instance(numa_topology=NumaTopology(None))
    assert isinstance(asked_of_instance(unreadable), NotAskable)


def test_of_flavors_with_one_name_the_one_in_use_most_counts():
    facts = read_cloud("cell1\n  host h1 VCPU=8 up").facts()
    old, new = flavor(), flavor(vcpus=3)
    rows = [instance(uuid=str(n), flavor=one) for n, one in enumerate((old, new, new))]
    assert flavors_in_use(replace(facts, instances=tuple(rows))) == (new,)
