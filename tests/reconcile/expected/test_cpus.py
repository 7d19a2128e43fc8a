# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.expected.asking import flavor
from trueup.reconcile.expected.cpus import dedicated_cpus, is_true
from trueup.reconcile.expected.parts import Unknown

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
