# SPDX-License-Identifier: Apache-2.0
from trueup.lab.blueprint import LifecycleState
from trueup.lab.survey import survey


def test_it_finds_settled_instances_with_correct_allocations(healthy):
    found = survey(healthy.databases, healthy.placement)
    wanted = {
        instance.uuid
        for instance in healthy.blueprint.instances
        if instance.state in (LifecycleState.ACTIVE, LifecycleState.STOPPED)
    }
    assert {instance.uuid for instance in found.instances} == wanted
    assert {node.uuid for node in found.nodes} == {host.uuid for host in healthy.blueprint.hosts}


def test_it_reports_free_capacity(healthy):
    claims = list(healthy.blueprint.claims())
    hardware = {host.uuid: host.hardware for host in healthy.blueprint.hosts}
    for node in survey(healthy.databases, healthy.placement).nodes:
        used = [claim.resources for claim in claims if claim.host.uuid == node.uuid]
        for name, capacity in hardware[node.uuid].capacity().items():
            assert node.free[name] == capacity - sum(amounts.get(name, 0) for amounts in used)
