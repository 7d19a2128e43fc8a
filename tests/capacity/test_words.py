# SPDX-License-Identifier: Apache-2.0
"""Every reason has words, and counts are said in the right number."""

import pytest

from tests.scenarios.reading import read_cloud
from trueup.capacity import words
from trueup.capacity.asked import Gap, asked_of_amounts
from trueup.capacity.counting import Bind, By, Later, capacity
from trueup.capacity.places import LeftOut


@pytest.mark.parametrize("why", LeftOut)
def test_every_reason_to_leave_out_a_host_has_words(why):
    assert words.binding((Bind.LEFT_OUT, why)) == words.LEFT_OUT[why]


@pytest.mark.parametrize("gap", Gap)
def test_every_gap_has_words(gap):
    assert words.not_counted(frozenset({gap})) == words.GAPS[gap]


@pytest.mark.parametrize("kind", [kind for kind in Bind if kind is not Bind.LEFT_OUT])
def test_everything_that_binds_has_words(kind):
    said = words.binding((kind, "VCPU"))
    assert said
    assert "{" not in said


def test_what_binds_on_most_hosts_is_said_first():
    binds = {(Bind.CLASS, "VCPU"): 1, (Bind.CLASS, "DISK_GB"): 2}
    assert words.bindings(binds) == "DISK_GB: 2 hosts\nVCPU: 1 host"


def test_the_hosts_that_are_left_out():
    text = "cell1\n  host h1 VCPU=8 up disabled\n  host h2 VCPU=8"
    found = capacity([asked_of_amounts({"VCPU": 1})], read_cloud(text).facts(), By.CLOUD, Later())
    assert words.left_out(found) == "2 of 2 hosts get no servers: 1 disabled, 1 down."
    healthy = read_cloud("cell1\n  host h1 VCPU=8 up").facts()
    found = capacity([asked_of_amounts({"VCPU": 1})], healthy, By.CLOUD, Later())
    assert words.left_out(found) == ""
