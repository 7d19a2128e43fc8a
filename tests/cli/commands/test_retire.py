# SPDX-License-Identifier: Apache-2.0
"""`trueup retire`: with Nova's own deletion of the service, and both Placements."""

from typing import Any
from uuid import uuid4

import pytest

from tests.cli.commands.emptying import DEVICE_TRAITS, DeadHost, child, dead_host, give, providers
from tests.cli.running import Ran, trueup
from tests.clouds.nova_services import NovaServices
from tests.reconcile.small import Small
from trueup.reconcile.collect import collect
from trueup.reconcile.plan.plan_file import save
from trueup.reconcile.runs.journals import runs


def retire(host: str, *words: object) -> Ran:
    return trueup("retire", host, "--interval", 0.01, *words)


def checks_of(ran: Ran, part: str) -> list[dict[str, str]]:
    return [row for row in ran.json()["checks"] if row["part"] == part]


def test_without_apply_nothing_is_written(site):
    host, before = dead_host(site), site.rows()
    ran = retire(host.name, "-f", "json")
    assert ran.code == 3, ran.err
    document = ran.json()
    assert not document["blocked"]
    assert [row["subject"] for row in checks_of(ran, "consumer")] == [host.evacuated]
    assert [row["verdict"] for row in document["steps"]] == ["planned"] * 2
    assert "cannot be taken back: Nova cannot make a compute service" in ran.err
    assert "Next: the same command with --apply" in ran.err
    assert site.rows() == before
    assert site.services.deletions == 0


def test_a_host_is_retired_with_its_children_and_what_is_left_on_them(site):
    host = dead_host(site)
    agent = child(site, host.provider, f"{host.node}:Open vSwitch agent")
    bridge = child(site, agent, f"{host.node}:Open vSwitch agent:br-ex")
    gpu = child(site, host.provider, f"{host.node}_0000:81:00.0", *DEVICE_TRAITS)
    held, before = site.holding(host.evacuated)["allocations"], site.rows()
    ran = retire(host.name, "--apply", "-f", "json")
    assert ran.code == 3, ran.out + ran.err
    assert {row["subject"]: row["verdict"] for row in checks_of(ran, "child provider")} == {
        f"{host.node}:Open vSwitch agent": "blocks",
        f"{host.node}:Open vSwitch agent:br-ex": "blocks",
        f"{host.node}_0000:81:00.0": "planned",
    }
    assert site.rows() == before, "Neutron is not asked"
    ran = retire(host.name, "--agents-gone", "--apply", "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    document = ran.json()
    assert {row["verdict"] for row in document["steps"]} == {"done"}
    assert document["left"] == []
    assert not {host.provider, agent, bridge, gpu} & providers(site).keys()
    assert site.services.deletions == 1
    # What it holds on the host where it is now stays, to the last unit.
    del held[host.provider]
    left = site.holding(host.evacuated)["allocations"]
    assert {uuid: row["resources"] for uuid, row in left.items()} == {
        uuid: row["resources"] for uuid, row in held.items()
    }
    again = retire(host.name, "--apply")
    assert again.code == 0
    assert f"Nothing is left to do for retire:{host.name}." in again.err


def test_instances_and_moves_have_to_end_first(site):
    """Every one is named, with the command that ends it; nothing is written."""
    planted = site.planted["missing-allocation"]
    host = planted.host
    reported = "UPDATE services SET last_seen_up = '2100-01-01 00:00:00' WHERE host = ?"
    site.sql(f"nova_{planted.cell}", reported, host)
    before = site.rows()
    ran = retire(host, "--apply", "-f", "json")
    assert ran.code == 3
    assert checks_of(ran, "service")[0]["verdict"] == "blocks"
    assert "compute service set --disable" in checks_of(ran, "service")[0]["then"]
    assert {row["then"].split()[3] for row in checks_of(ran, "instance")} == {"migrate"}
    [move] = checks_of(ran, "migration")
    assert "openstack server resize confirm" in move["then"]
    assert ran.json()["steps"] == []
    assert site.rows() == before


def test_a_stranger_keeps_the_host(site):
    """Nova would delete the service, and leave the provider behind for ever."""
    host, stranger = dead_host(site), str(uuid4())
    give(site, stranger, {host.provider: {"VCPU": 1}})
    ran = retire(host.name, "--apply", "-f", "json")
    assert ran.code == 3
    [other] = [row for row in checks_of(ran, "consumer") if row["subject"] == stranger]
    assert other["verdict"] == "blocks"
    assert "its owner is not known: have its owner release it" in other["then"]
    assert 'kind = "dead-consumer"' in other["then"], "what an operator states where it is gone"
    assert host.provider in providers(site)
    assert site.services.deletions == 0


def test_a_provider_that_somebody_deleted_is_made_first(site):
    """Nova fails at a compute node without a provider, after the host has left its aggregates."""
    host = dead_host(site)
    held = site.holding(host.evacuated)["allocations"]
    rest = {uuid: row["resources"] for uuid, row in held.items() if uuid != host.provider}
    assert site.call("DELETE", f"/allocations/{host.evacuated}").status_code == 204
    give(site, host.evacuated, rest)
    assert site.call("DELETE", f"/resource_providers/{host.provider}").status_code == 204
    ran = retire(host.name, "--apply", "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    assert ran.json()["steps"][0]["found"] == f"make the provider {host.node}"
    assert host.provider not in providers(site)
    assert site.services.deletions == 1


def deleted_in_nova(site: Small, host: DeadHost) -> None:
    """Its service is deleted in another way: Nova forgot the host, and Placement keeps it."""
    for table in ("services", "compute_nodes"):
        site.sql(host.cell, f"UPDATE {table} SET deleted = id WHERE host = ?", host.name)
    site.sql("nova_api", "DELETE FROM host_mappings WHERE host = ?", host.name)


def test_what_nova_left_behind_is_deleted_afterwards(site):
    """The service is gone, and its provider is still there: Nova swallowed Placement's refusal."""
    host = dead_host(site)
    gpu = child(site, host.provider, f"{host.node}_0000:81:00.0", *DEVICE_TRAITS)
    deleted_in_nova(site, host)
    ran = retire(host.name, "--apply", "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    assert ran.json()["permanent"] == ""
    assert not {host.provider, gpu} & providers(site).keys()
    assert site.services.deletions == 0


def test_what_was_left_behind_can_be_undone(site, state):
    host = dead_host(site)
    child(site, host.provider, f"{host.node}_0000:81:00.0", *DEVICE_TRAITS)
    deleted_in_nova(site, host)
    before = site.ledger()
    assert retire(host.name, "--apply").code == 0
    [journal] = runs(state)
    assert trueup("undo", journal.run).code == 0
    assert site.ledger() == before


def test_an_undo_makes_parents_before_children_also_side_by_side(site_on, state):
    site = site_on("trueup")
    host = dead_host(site)
    above = host.provider
    for number in range(4):
        name = f"{host.node}_0000:81:00.{number}"
        above = child(site, above, name, *DEVICE_TRAITS)
    deleted_in_nova(site, host)
    before = site.ledger()
    assert retire(host.name, "--apply").code == 0
    [journal] = runs(state)
    undone = trueup("undo", journal.run, "--concurrency", 8)
    assert undone.code == 0, undone.out + undone.err
    assert site.ledger() == before


def in_an_aggregate(site: Small, host: DeadHost) -> None:
    """Let the host be in a host aggregate, and its provider in Placement's of the same uuid."""
    uuid = str(uuid4())
    site.sql("nova_api", "INSERT INTO aggregates (uuid, name) VALUES (?, 'rack')", uuid)
    [row] = site.sql("nova_api", "SELECT id FROM aggregates WHERE uuid = ?", uuid)
    added = "INSERT INTO aggregate_hosts (host, aggregate_id) VALUES (?, ?)"
    site.sql("nova_api", added, host.name, row["id"])
    path = f"/resource_providers/{host.provider}/aggregates"
    found = site.call("GET", path).json()
    body = {**found, "aggregates": [*found["aggregates"], uuid]}
    assert site.call("PUT", path, body).status_code == 200


def test_what_nova_fails_to_delete_is_deleted(site, monkeypatch):
    """Nova has taken the provider out of its aggregates by then, and answers 204."""
    host = dead_host(site)
    in_an_aggregate(site, host)
    monkeypatch.setattr(NovaServices, "_delete_tree", lambda services, root: True)
    ran = retire(host.name, "--apply", "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    assert host.provider not in providers(site)
    assert site.services.deletions == 1


def test_a_deletion_that_nova_began_is_completed(site, monkeypatch):
    """Nova answers 500 after it has taken the host out of its aggregates."""
    host = dead_host(site)
    in_an_aggregate(site, host)
    with monkeypatch.context() as failing:
        failing.setattr(NovaServices, "_delete_tree", lambda services, root: False)
        ran = retire(host.name, "--apply", "-f", "json")
    assert ran.code == 4, ran.out + ran.err
    assert site.services.deletions == 0
    ran = retire(host.name, "--apply", "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    assert host.provider not in providers(site)
    assert site.services.deletions == 1


def refused_by_a_claim(site: Small, host: DeadHost, monkeypatch: pytest.MonkeyPatch) -> str:
    """Something is claimed on the host while Nova deletes its service: its provider stays."""
    claimed = str(uuid4())

    def claim(_: NovaServices, root: str) -> bool:
        give(site, claimed, {root: {"VCPU": 1}})
        return True

    with monkeypatch.context() as patched:
        patched.setattr(NovaServices, "_delete_tree", claim)
        ran = retire(host.name, "--apply", "-f", "json")
    assert ran.code == 4, ran.out + ran.err
    [refused] = [row for row in ran.json()["steps"] if row["verdict"] != "done"]
    assert refused["verdict"] == "refused"
    assert "written in part: Nova cannot make a compute service" in refused["then"]
    assert site.services.deletions == 1
    return claimed


def test_a_claim_while_the_service_is_deleted_is_named_and_then_the_rest_is_deleted(
    site, monkeypatch
):
    host = dead_host(site)
    claimed = refused_by_a_claim(site, host, monkeypatch)
    ran = retire(host.name, "--apply", "-f", "json")
    assert ran.code == 3, ran.out + ran.err
    [other] = [row for row in checks_of(ran, "consumer") if row["subject"] == claimed]
    assert other["verdict"] == "blocks"
    assert site.call("DELETE", f"/allocations/{claimed}").status_code == 204
    ran = retire(host.name, "--apply")
    assert ran.code == 0, ran.out + ran.err
    assert host.provider not in providers(site)


def test_what_was_written_before_a_service_that_cannot_be_made_again_is_undone(
    site_on, monkeypatch, state
):
    site = site_on("trueup")
    host = dead_host(site)
    before = site.ledger()
    claimed = refused_by_a_claim(site, host, monkeypatch)
    assert site.call("DELETE", f"/allocations/{claimed}").status_code == 204
    undone = trueup("undo", runs(state)[0].run)
    assert undone.code == 4, undone.out + undone.err
    assert "is not taken back" in undone.err
    assert "Nova cannot make a compute service" in undone.err
    assert "may still be" not in undone.err
    assert site.ledger() == before


def test_a_plan_that_was_applied_in_part_is_applied_again(site_on, monkeypatch, tmp_path, state):
    """Its file says all that is left, once what was in the way is released."""
    site = site_on("trueup")
    host = dead_host(site)
    claimed = refused_by_a_claim(site, host, monkeypatch)
    path = tmp_path / "plan.json"
    save(runs(state)[0].plan, path)
    assert trueup("apply", path).code == 4
    assert site.call("DELETE", f"/allocations/{claimed}").status_code == 204
    ran = trueup("apply", path)
    assert ran.code == 0, ran.out + ran.err
    assert host.provider not in providers(site)
    assert site.services.deletions == 1


def test_what_was_lost_with_a_service_is_healed_once_its_host_is_back(site):
    """If the allocations go with the service, heal_allocations gives them back "assuming
    they restart the compute service on that host. This would have to be tested of course"."""
    facts = collect(site.cloud, lambda *_: None)
    moved = {row.instance for row in facts.migrations}
    [row, *_] = [
        one
        for one in facts.alive.values()
        if one.vm_state == "active" and one.uuid in facts.consumers and one.uuid not in moved
    ]
    [node] = facts.nodes_by_place[row.cell, row.host, row.node]
    path, held = f"/resource_providers/{node.uuid}", site.holding(row.uuid)
    stock = site.call("GET", f"{path}/inventories").json()["inventories"]
    for consumer in site.call("GET", f"{path}/allocations").json()["allocations"]:
        assert site.call("DELETE", f"/allocations/{consumer}").status_code == 204
    assert site.call("DELETE", path).status_code == 204
    cell, heal = f"nova_{facts.cells[row.cell]}", ("heal_allocations", "--instance", row.uuid)
    for table in ("services", "compute_nodes"):
        site.sql(cell, f"UPDATE {table} SET deleted = id WHERE host = ?", row.host)
    ran = trueup("nova-manage", "placement", *heal)
    assert (ran.code, "Compute host" in ran.out) == (2, True), ran.out + ran.err

    # nova-compute registers itself, and reports its inventory.
    for table in ("services", "compute_nodes"):
        site.sql(cell, f"UPDATE {table} SET deleted = 0 WHERE host = ?", row.host)
    made = {"name": node.node, "uuid": node.uuid}
    assert site.call("POST", "/resource_providers", made).status_code == 200
    body = {"resource_provider_generation": 0, "inventories": stock}
    assert site.call("PUT", f"{path}/inventories", body).status_code == 200
    ran = trueup("nova-manage", "placement", *heal)
    assert ran.code == 0, ran.out + ran.err
    found = site.holding(row.uuid)
    assert found["project_id"] == held["project_id"]
    assert amounts_in(found) == amounts_in(held)


def amounts_in(holding: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {uuid: row["resources"] for uuid, row in holding["allocations"].items()}


def test_the_plan_is_a_file_like_any_other(site, tmp_path):
    host, path = dead_host(site), tmp_path / "retire.json"
    assert retire(host.name, "--out", path).code == 3
    assert "forced down: True" in trueup("plan", "show", path).out
    rehearsed = trueup("rehearse", path, "-f", "json")
    assert rehearsed.code == 0, rehearsed.out + rehearsed.err
    assert site.services.deletions == 0
    assert trueup("apply", path).code == 0
    assert host.provider not in providers(site)
    assert site.services.deletions == 1


def test_an_unknown_host_is_refused(site_on):
    site_on("trueup")
    ran = retire("nowhere", "--apply")
    assert ran.code == 2
    assert "neither Nova nor Placement has the host 'nowhere'" in ran.err


def test_a_cell_that_lost_its_instances_shows_no_host_to_be_empty(site):
    host, before = dead_host(site), site.rows()
    assert site.sql("nova_cell2", "SELECT id FROM compute_nodes WHERE deleted = 0")
    site.sql("nova_cell2", "DELETE FROM instances")
    ran = retire(host.name, "--apply")
    assert ran.code == 5, ran.err
    assert "cell2 does not answer: its table of instances is empty, though Nova maps" in ran.err
    assert site.rows() == before
