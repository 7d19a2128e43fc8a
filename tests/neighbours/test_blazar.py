# SPDX-License-Identifier: Apache-2.0
"""Blazar's reservations on a ledger that Trueup audits and repairs."""

from tests.cli.commands.emptying import dead_host
from tests.cli.running import trueup
from tests.neighbours.programs import blazar
from tests.neighbours.shared_cloud import SharedCloud

RESERVATION = "4d17d41a-0000-4000-8000-000000000001"
CLASS = "CUSTOM_RESERVATION_4D17D41A_0000_4000_8000_000000000001"
AMOUNT = 2


def reserve(cloud: SharedCloud, node: str, amount: int = AMOUNT) -> str:
    """What Blazar does for a new host and a lease of servers on it; its provider there."""
    blazar(
        cloud.login,
        cloud.small.folder,
        ("create_reservation_provider", node),
        ("create_reservation_class", RESERVATION),
        ("update_reservation_inventory", node, RESERVATION, amount),
    )
    return f"blazar_{node}"


def test_what_blazar_adds_changes_no_judgement(cloud):
    before = cloud.judged()
    provider = reserve(cloud, cloud.node)
    assert cloud.inventories(provider)[CLASS]["total"] == AMOUNT
    assert cloud.judged() == before


def test_a_server_of_a_lease_is_right_and_counts(cloud):
    reserve(cloud, cloud.node)
    before = cloud.judged()
    asked = {f"resources:{CLASS}": "1"}
    assert cloud.fits(**asked) == str(AMOUNT)
    cloud.asks_for(cloud.server, **asked)
    cloud.claim(cloud.server, CLASS)
    assert cloud.fits(**asked) == str(AMOUNT - 1)
    assert cloud.judged() == before


def test_a_server_of_a_lease_that_holds_nothing_is_not_healed(cloud):
    reserve(cloud, cloud.node)
    cloud.asks_for(cloud.server, **{f"resources:{CLASS}": "1"})
    cloud.lose(cloud.server)
    because = f"flavor: {CLASS} is allocated by Blazar"
    row = cloud.judged_of(cloud.server)
    assert row["Verdict"] == "could not check"
    assert row["Evidence"]["reason"] == f"holds nothing; {because}"
    heal = ("nova-manage", "--config-file", cloud.small.nova_conf, "placement", "heal_allocations")
    ran = trueup(*heal, "--verbose", "--instance", cloud.server.uuid)
    assert because in ran.out
    assert cloud.small.holding(cloud.server.uuid)["allocations"] == {}


def test_what_a_deleted_server_of_a_lease_holds_is_released_so_that_blazar_can_end_it(cloud):
    provider = reserve(cloud, cloud.node)
    cloud.claim(cloud.server, CLASS)
    gone = "UPDATE instances SET deleted = id, deleted_at = '2026-01-01' WHERE uuid = ?"
    cloud.small.sql("nova_cell1", gone, cloud.server.uuid)
    end = ("delete_reservation_inventory", cloud.node, RESERVATION)
    blazar(cloud.login, cloud.small.folder, end)
    assert CLASS in cloud.inventories(provider), "Placement refuses, and Blazar goes on"
    cloud.small.apply(cloud.small.plan("orphaned-allocation"))
    blazar(
        cloud.login,
        cloud.small.folder,
        end,
        ("delete_reservation_class", RESERVATION),
        ("delete_reservation_provider", cloud.node),
    )
    assert provider not in cloud.providers()
    classes = cloud.small.call("GET", "/resource_classes").json()["resource_classes"]
    assert CLASS not in {one["name"] for one in classes}


def test_a_dead_host_is_retired_after_blazar_has_left_it(cloud):
    host = dead_host(cloud.small)
    provider = reserve(cloud, host.node)
    words = ("retire", host.name, "--interval", 0.01, "--apply", "-f", "json")
    checks = trueup(*words).json()["checks"]
    assert [row["verdict"] for row in checks if row["subject"] == provider] == ["blocks"]
    blazar(cloud.login, cloud.small.folder, ("delete_reservation_provider", host.node))
    ran = trueup(*words)
    assert ran.code == 0, ran.out + ran.err
    assert host.node not in cloud.providers()
