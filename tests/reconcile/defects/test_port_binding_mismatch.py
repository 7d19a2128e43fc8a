# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, left_with, reason, steps, verdicts
from tests.reconcile.defects.with_ports import CLOUD
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import port_binding_mismatch
from trueup.reconcile.steps import PortBinding


def bound_to(made) -> list[object]:
    """What the profiles name afterwards."""
    return [
        change.after.content["allocation"]
        for step in made
        for change in step.changes
        if isinstance(change.target, PortBinding)
    ]


@pytest.mark.parametrize("named", ["", "named=gone", "named=h1"])
def test_the_profile_is_written_and_the_allocation_stays(named):
    ports = f"neutron\nport p1 of web NET_BW=10 {named}"
    made = steps(port_binding_mismatch, CLOUD.format(ports, "holds web nic NET_BW=10"))
    assert left_with(made) == {}
    assert bound_to(made) == [{uuid_of("group of p1"): uuid_of("nic")}]


def test_a_profile_in_the_older_format_keeps_it():
    ports = "neutron\nport p1 of web NET_BW=10 named=gone older"
    made = steps(port_binding_mismatch, CLOUD.format(ports, "holds web nic NET_BW=10"))
    assert bound_to(made) == [uuid_of("nic")]


def test_two_ports_that_could_change_places_are_not_guessed():
    ports = "neutron\nport p1 of web NET_BW=10\nport p2 of web NET_BW=10"
    cloud = CLOUD.format(
        f"provider nic2 of h1 NET_BW=1000\n{ports}",
        "holds web nic NET_BW=10\nholds web nic2 NET_BW=10",
    )
    assert found(port_binding_mismatch, cloud)
    assert "port-provider" in declined(port_binding_mismatch, cloud)


@pytest.mark.parametrize("words", ["host=h2", "vif=binding_failed"])
def test_a_port_that_is_being_bound_or_could_not_be_is_left_alone(words):
    ports = f"neutron\nport p1 of web NET_BW=10 {words}"
    assert "its binding is" in reason(port_binding_mismatch, CLOUD.format(ports, ""))


def test_a_port_that_names_what_is_held_is_right():
    ports = "neutron\nport p1 of web NET_BW=10 named=nic"
    assert verdicts(port_binding_mismatch, CLOUD.format(ports, "holds web nic NET_BW=10")) == []


def test_what_is_on_the_move_by_now_has_no_step():
    cloud = CLOUD.format("neutron\nport p1 of web NET_BW=10", "holds web nic NET_BW=10")
    moving = cloud.replace("server web on h1", "server web on h1 task=migrating")
    assert "no longer settled" in declined(port_binding_mismatch, cloud, moving)
