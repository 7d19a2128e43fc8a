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
    asked_of,
    asked_of_amounts,
    asked_of_instance,
    flavors_in_use,
    traits_wanted,
    without_traits,
)
from trueup.reconcile.facts import NumaCell, NumaTopology
from trueup.reconcile.reasons import because


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
    ],
)
def test_what_nobody_knows_is_named(specs, gap):
    assert found(specs).gaps == {gap}


def test_a_flavor_that_nova_refuses_is_not_counted():
    asked = asked_of(flavor({"hw:cpu_policy": "odd"}), {})
    assert asked == NotAskable("a-flavor", because("cpu-policy-unknown", policy="odd"))


def test_plain_amounts():
    asked = asked_of_amounts({"VCPU": 2}, ["CUSTOM_FAST"])
    assert asked.name == "VCPU=2,CUSTOM_FAST"
    assert traits_wanted([asked]) == {"CUSTOM_FAST"}
    assert without_traits(asked).gaps == {Gap.TRAITS_NOT_READ}
    plain = asked_of_amounts({"VCPU": 2})
    assert without_traits(plain) == plain


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
