# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.expected.asking import flavor, instance
from trueup.reconcile.expected.cpus import (
    dedicated_cpus,
    emulator_not_counted,
    is_true,
    pinned_otherwise,
)
from trueup.reconcile.expected.parts import ExpectedAllocation, Known, Unknown
from trueup.reconcile.facts import NumaCell, NumaTopology
from trueup.reconcile.report.reasons import in_words

PINNED = {"hw:cpu_policy": "dedicated"}
MIXED = {"hw:cpu_policy": "mixed"}


def processors(specs, image=None, vcpus=4):
    return dedicated_cpus(flavor(specs, vcpus=vcpus), image or {})


@pytest.mark.parametrize(
    ("specs", "image", "wanted"),
    [
        ({}, {}, {}),
        ({"hw:cpu_policy": "shared"}, {}, {}),
        (PINNED, {}, {"PCPU": 4}),
        ({}, {"hw_cpu_policy": "dedicated"}, {"PCPU": 4}),
        (PINNED, {"hw_cpu_policy": "shared"}, {"PCPU": 4}),
        (PINNED | {"hw:cpu_thread_policy": "isolate"}, {}, {"PCPU": 4}),
        (PINNED | {"hw:emulator_threads_policy": "isolate"}, {}, {"PCPU": 5}),
        (PINNED | {"hw:emulator_threads_policy": "share"}, {}, {"PCPU": 4}),
        ({"hw:emulator_threads_policy": "isolate"}, {}, {}),
        (MIXED | {"hw:cpu_dedicated_mask": "0-1"}, {}, {"VCPU": 2, "PCPU": 2}),
        (MIXED | {"hw:cpu_dedicated_mask": "^3"}, {}, {"VCPU": 1, "PCPU": 3}),
        (MIXED | {"hw:cpu_dedicated_mask": "0-3,^1-2"}, {}, {"VCPU": 2, "PCPU": 2}),
        (
            MIXED | {"hw:cpu_dedicated_mask": "1", "hw:emulator_threads_policy": "isolate"},
            {},
            {"VCPU": 3, "PCPU": 2},
        ),
        (
            MIXED | {"hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"},
            {},
            {"VCPU": 1, "PCPU": 3},
        ),
        (
            MIXED | {"hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"},
            {"hw_cpu_realtime_mask": "^0-1"},
            {"VCPU": 2, "PCPU": 2},
        ),
        (MIXED | {"hw:cpu_realtime": "yes"}, {}, {"VCPU": 0, "PCPU": 4}),
        (MIXED, {}, {"VCPU": 4, "PCPU": 0}),
    ],
)
def test_cpus_are_counted_according_to_flavor_and_image(specs, image, wanted):
    assert processors(specs, image) == wanted


@pytest.mark.parametrize(
    ("specs", "image"),
    [
        ({"hw:cpu_policy": "loose"}, {}),
        ({}, {"hw_cpu_policy": "loose"}),
        ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "dedicated"}),
        ({"hw:cpu_policy": "shared"}, {"hw_cpu_policy": "mixed"}),
        (MIXED, {"hw_cpu_policy": "dedicated"}),
        (PINNED | {"hw:emulator_threads_policy": "some"}, {}),
        (MIXED | {"hw:cpu_dedicated_mask": "9"}, {}),
        (MIXED | {"hw:cpu_dedicated_mask": "a-b"}, {}),
        (MIXED | {"hw:cpu_dedicated_mask": "1,^1"}, {}),
    ],
)
def test_requests_that_nova_refuses_are_unknown(specs, image):
    assert isinstance(processors(specs, image), Unknown)


@pytest.mark.parametrize("word", ["1", "t", "True", " yes ", "ON", "y"])
def test_spellings_of_true(word):
    assert is_true(word)


@pytest.mark.parametrize("word", [None, "", "0", "false", "2"])
def test_everything_else_is_false(word):
    assert not is_true(word)


@pytest.mark.parametrize(
    ("pinned", "specs", "image", "wanted", "why"),
    [
        ((0, 1), {}, {}, "VCPU", "pins processors"),
        ((0, 1), {"hw:cpu_policy": "shared"}, {}, "VCPU", "pins processors"),
        ((), {}, {}, "VCPU", ""),
        ((0, 1), PINNED, {}, "VCPU", ""),
        ((0, 1), {}, {"hw_cpu_policy": "dedicated"}, "VCPU", ""),
        ((0, 1), {"resources:PCPU": "2"}, {}, "PCPU", ""),
        (None, {}, {}, "VCPU", "could not be read"),
        (None, PINNED, {}, "VCPU", ""),
        (None, {"resources:PCPU": "2"}, {}, "PCPU", ""),
    ],
)
def test_a_guest_with_dedicated_processors_that_nothing_asks_for(pinned, specs, image, wanted, why):
    """Asked for on a host without PCPU, dedicated processors are VCPU: nothing is strange then."""
    topology = NumaTopology(None if pinned is None else (NumaCell(0, (), pinned, 256),))
    web = instance(flavor=flavor(specs), image_properties=image, numa_topology=topology)
    allocation = ExpectedAllocation("web", (Known("flavor", {wanted: 2}, "root"),))
    reason = pinned_otherwise(web, allocation)
    assert why in in_words(reason) if why else not reason


def test_without_a_numa_topology_no_guest_is_pinned():
    assert not pinned_otherwise(instance(), ExpectedAllocation("web", ()))


@pytest.mark.parametrize(
    ("specs", "held", "wanted", "not_counted"),
    [
        ({"hw:emulator_threads_policy": "isolate"}, {"PCPU": 4}, {"PCPU": 5}, True),
        ({"hw:emulator_threads_policy": "isolate"}, {"PCPU": 3}, {"PCPU": 5}, False),
        ({"hw:emulator_threads_policy": "isolate"}, {"PCPU": 6}, {"PCPU": 5}, False),
        ({"hw:emulator_threads_policy": "isolate"}, {"VCPU": 4}, {"PCPU": 5}, False),
        # Its host has no PCPU.
        ({"hw:emulator_threads_policy": "isolate"}, {"PCPU": 4}, {"VCPU": 4}, False),
        # Not the emulator threads, but the flavor's override asks for one more.
        ({}, {"PCPU": 4}, {"PCPU": 5}, False),
    ],
)
def test_a_processor_for_emulator_threads_that_nova_did_not_count(specs, held, wanted, not_counted):
    web = instance(flavor=flavor(PINNED | specs, vcpus=4))
    allocation = ExpectedAllocation("web", (Known("flavor", wanted, "root"),))
    assert bool(emulator_not_counted(web, {"root": held}, allocation)) is not_counted


def test_without_a_flavor_nothing_is_said_of_emulator_threads():
    assert not emulator_not_counted(instance(flavor=None), {}, ExpectedAllocation("web", ()))
