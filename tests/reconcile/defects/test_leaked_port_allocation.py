# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, left_with, reason, steps, verdicts
from tests.reconcile.defects.with_ports import CLOUD, OWN
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import leaked_port_allocation, missing_port_allocation


@pytest.mark.parametrize(
    ("ports", "held", "kept"),
    [
        ("neutron", 100, {}),
        ("neutron\nport p1 of web NET_BW=60 named=nic", 100, {uuid_of("nic"): {"NET_BW": 60}}),
    ],
)
def test_what_its_ports_request_stays_and_the_rest_is_released(ports, held, kept):
    cloud = CLOUD.format(ports, f"holds web nic NET_BW={held}")
    after = left_with(steps(leaked_port_allocation, cloud))[uuid_of("web")]
    assert after is not None
    assert after.amounts == {uuid_of("h1"): OWN, **kept}


@pytest.mark.parametrize(("held", "leaked"), [(59, False), (60, False), (61, True)])
def test_to_hold_less_is_the_other_defect(held, leaked):
    cloud = CLOUD.format(
        "neutron\nport p1 of web NET_BW=60 named=nic", f"holds web nic NET_BW={held}"
    )
    assert bool(verdicts(leaked_port_allocation, cloud)) is leaked
    assert bool(verdicts(missing_port_allocation, cloud)) is (held < 60)


def test_nova_needs_two_requests_to_detach_a_port():
    cloud = CLOUD.format("neutron", "holds web nic NET_BW=60")
    assert found(leaked_port_allocation, cloud).may_pass_within > 0


@pytest.mark.parametrize("ports", ["neutron silent", "neutron\ncell2 silent"])
def test_a_port_that_was_not_read_may_need_it(ports):
    assert reason(leaked_port_allocation, CLOUD.format(ports, "holds web nic NET_BW=60"))


def test_what_is_on_the_move_by_now_has_no_step():
    cloud = CLOUD.format("neutron", "holds web nic NET_BW=10")
    moving = cloud.replace("server web on h1", "server web on h1 task=migrating")
    assert "is not known" in declined(leaked_port_allocation, cloud, moving)


def test_nova_may_be_between_the_allocation_and_the_binding():
    cloud = CLOUD.format("neutron", "holds web nic NET_BW=10")
    assert found(leaked_port_allocation, cloud).may_pass_within == 10
