# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, left_with, steps
from tests.reconcile.defects.with_ports import CLOUD, OWN
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import missing_port_allocation
from trueup.reconcile.steps import PortBinding


@pytest.mark.parametrize(("first", "second"), [(10, 20), (1, 1)])
def test_all_ports_of_an_instance_are_allocated_and_named_in_one_step(first, second):
    ports = f"neutron\nport p1 of web NET_BW={first}\nport p2 of web NET_BW={second}"
    made = steps(missing_port_allocation, CLOUD.format(ports, ""))
    assert len(made) == 1
    after = left_with(made)[uuid_of("web")]
    assert after is not None
    assert after.amounts == {uuid_of("h1"): OWN, uuid_of("nic"): {"NET_BW": first + second}}
    bound = [one.target.port for one in made[0].changes if isinstance(one.target, PortBinding)]
    assert sorted(bound) == sorted([uuid_of("p1"), uuid_of("p2")])


def test_of_several_candidates_none_is_guessed_and_each_is_a_choice():
    cloud = CLOUD.format("provider nic2 of h1 NET_BW=1000\nneutron\nport p1 of web NET_BW=10", "")
    choices = found(missing_port_allocation, cloud).evidence["choices"]
    assert {row["provider"] for row in choices} == {uuid_of("nic"), uuid_of("nic2")}
    assert "port-provider" in declined(missing_port_allocation, cloud)


@pytest.mark.parametrize("chosen", ["nic", "nic2"])
def test_the_chosen_one_is_taken(chosen):
    port = f"port p1 of web NET_BW=10\nchosen {chosen} for p1"
    more = f"provider nic2 of h1 NET_BW=1000\nneutron\n{port}"
    after = left_with(steps(missing_port_allocation, CLOUD.format(more, "")))[uuid_of("web")]
    assert after is not None
    assert after.amounts == {uuid_of("h1"): OWN, uuid_of(chosen): {"NET_BW": 10}}


def test_where_no_provider_has_it_neutron_s_agent_is_to_blame():
    cloud = CLOUD.format("neutron\nport p1 of web NET_PKT=10", "")
    assert "Neutron's agent on h1" in declined(missing_port_allocation, cloud)


def test_a_port_that_nothing_would_guard_is_not_written():
    cloud = CLOUD.format("neutron\nport p1 of web NET_BW=10 unrevised", "")
    assert "no revision" in declined(missing_port_allocation, cloud)


def test_what_is_on_the_move_by_now_has_no_step():
    cloud = CLOUD.format("neutron\nport p1 of web NET_BW=10", "")
    moving = cloud.replace("server web on h1", "server web on h1 task=migrating")
    assert "no longer settled" in declined(missing_port_allocation, cloud, moving)
