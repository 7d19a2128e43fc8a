# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import found, guards, left_with, reason, steps, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import shelved_allocation
from trueup.reconcile.steps import ServiceDown

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web {}
{}
holds web h1 VCPU=2 MEMORY_MB=256
"""


@pytest.mark.parametrize("task", ["unshelving", "spawning", "shelving_offloading"])
def test_an_instance_that_comes_back_is_left_alone(task):
    cloud = CLOUD.format(f"state=shelved_offloaded task={task}", "")
    assert verdicts(shelved_allocation, cloud) == []


def test_its_migrations_release_what_they_hold_with_it():
    more = "  resize of web from h1 error\nholds resize-of-web h1 VCPU=1"
    cloud = CLOUD.format("state=shelved_offloaded", more)
    assert left_with(steps(shelved_allocation, cloud)) == {
        uuid_of("web"): None, uuid_of("resize-of-web"): None,
    }  # fmt: skip


def test_only_an_offloaded_instance_is_known_to_hold_nothing():
    assert found(shelved_allocation, CLOUD.format("state=shelved_offloaded", ""))
    assert "if its build failed, delete it" in reason(
        shelved_allocation, CLOUD.format("state=error", "")
    )


def test_a_silent_cell_may_have_it_on_a_host():
    cloud = CLOUD.format("state=shelved_offloaded", "cell2 silent")
    assert "cell2 did not answer" in reason(shelved_allocation, cloud)


def test_if_only_its_migration_holds_something_only_that_is_released():
    more = "  resize of web from h1 error\nholds resize-of-web h1 VCPU=1"
    cloud = CLOUD.replace("holds web h1 VCPU=2 MEMORY_MB=256\n", "")
    offloaded = cloud.format("state=shelved_offloaded", more)
    assert left_with(steps(shelved_allocation, offloaded)) == {uuid_of("resize-of-web"): None}
    assert "is on no host and holds VCPU=1 on h1, should" in reason(
        shelved_allocation, cloud.format("state=error", more)
    )


@pytest.mark.parametrize(
    ("move", "service", "guarded", "told"),
    [
        ("evacuation of web from h1 done", "", ["h1"], ""),
        ("evacuation of web from h1 done", "up", [], "it was evacuated from h1, which is up"),
        ("evacuation of web from h1 completed", "up", [], ""),
        ("live-migration of web from h1 done", "up", [], ""),
    ],
)
def test_a_host_that_it_was_evacuated_from_may_still_run_it(move, service, guarded, told):
    cloud = CLOUD.replace("host h1", f"host h1 {service}")
    cloud = cloud.format("state=shelved_offloaded", f"  {move}")
    if told:
        assert told in reason(shelved_allocation, cloud)
    else:
        made = steps(shelved_allocation, cloud)
        assert [one.host for one in guards(made, ServiceDown)] == guarded
