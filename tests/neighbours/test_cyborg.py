# SPDX-License-Identifier: Apache-2.0
"""Cyborg's conductor and its fake driver on a ledger that Trueup audits and repairs."""

from tests.cli.running import trueup
from tests.neighbours.programs import cyborg
from tests.neighbours.shared_cloud import SharedCloud

AMOUNT = 16
PROFILE = {"accel:device_profile": "fpga"}


def report(cloud: SharedCloud, *events: str) -> str:
    """What happens to the device of the servers' host; its provider."""
    cyborg(cloud.login, cloud.small.folder, cloud.node, *events)
    return f"{cloud.node.replace('.', '_')}_FakeDevice"


def test_what_cyborg_adds_and_takes_away_changes_no_judgement(cloud):
    before = cloud.judged()
    provider = report(cloud, "found")
    assert cloud.inventories(provider)["FPGA"]["total"] == AMOUNT
    assert cloud.judged() == before
    report(cloud, "gone")
    assert provider not in cloud.providers()
    assert cloud.judged() == before


def test_a_server_with_a_device_profile_is_right_and_counts(cloud):
    report(cloud, "found")
    before = cloud.judged()
    assert cloud.fits(**{"resources:FPGA": "1"}) == str(AMOUNT)
    cloud.asks_for(cloud.server, **PROFILE)
    cloud.claim(cloud.server, "FPGA")
    assert cloud.fits(**{"resources:FPGA": "1"}) == str(AMOUNT - 1)
    assert cloud.fits(**PROFILE).startswith("at most ")
    assert cloud.judged() == before


def test_a_server_without_its_accelerator_is_found_and_not_healed(cloud):
    report(cloud, "found")
    cloud.asks_for(cloud.server, **PROFILE)
    assert cloud.judged_of(cloud.server)["Defect"] == "missing-device-allocation"
    held = cloud.small.holding(cloud.server.uuid)
    plan = cloud.small.plan("missing-device-allocation")
    assert cloud.server.uuid not in {uuid for step in plan.steps for uuid in step.consumers}
    heal = ("nova-manage", "--config-file", cloud.small.nova_conf, "placement", "heal_allocations")
    ran = trueup(*heal, "--instance", cloud.server.uuid)
    assert "Cyborg device profile request is not supported" in ran.out
    assert cloud.small.holding(cloud.server.uuid) == held


def test_the_accelerator_stays_when_the_rest_is_healed(cloud):
    report(cloud, "found")
    cloud.claim(cloud.other, "FPGA")
    cloud.asks_for(cloud.other, **PROFILE)
    held = cloud.small.holding(cloud.other.uuid)["allocations"]
    [device] = [uuid for uuid, part in held.items() if "FPGA" in part["resources"]]
    planted = cloud.small.consumer("missing-allocation")
    outcomes = cloud.small.apply(cloud.small.plan())
    assert planted in outcomes
    assert cloud.small.holding(cloud.other.uuid)["allocations"][device] == held[device]


def test_a_device_that_is_disabled_while_it_is_in_use_is_not_overcommitted(cloud):
    provider = report(cloud, "found")
    cloud.asks_for(cloud.server, **PROFILE)
    cloud.claim(cloud.server, "FPGA")
    before = cloud.judged()
    report(cloud, "disabled")
    assert cloud.inventories(provider)["FPGA"]["reserved"] == AMOUNT
    assert cloud.judged() == before
    assert cloud.fits(**{"resources:FPGA": "1"}) == "0"
    report(cloud, "enabled")
    assert cloud.fits(**{"resources:FPGA": "1"}) == str(AMOUNT - 1)
