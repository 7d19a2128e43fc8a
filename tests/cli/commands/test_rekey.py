# SPDX-License-Identifier: Apache-2.0
"""`trueup rekey`: a compute node got another uuid; both Placements, bandwidth, PCI children."""

from pathlib import Path
from typing import Any

import pytest
from requests import Response

from tests.cli.commands.emptying import providers
from tests.cli.commands.rekeying import HOST, NEW, Rekeyed, held_on, with_another_uuid
from tests.cli.running import Ran, trueup
from tests.reconcile.small import Small
from trueup.reconcile.changes import version_after
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.reasons import because
from trueup.reconcile.runs.journal import Origin, Outcome
from trueup.reconcile.runs.journals import applying, runs
from trueup.reconcile.sources.placement.client import Placement


def rekey(*words: object) -> Ran:
    return trueup("rekey", HOST, "--interval", 0.01, *words)


def check_of(ran: Ran, part: str) -> dict[str, str]:
    [check] = [row for row in ran.json()["checks"] if row["part"] == part]
    return check


def parents(small: Small) -> dict[str, str]:
    listed = small.call("GET", "/resource_providers").json()["resource_providers"]
    return {row["uuid"]: row["parent_provider_uuid"] for row in listed}


def provider_parts(small: Small, uuid: str) -> dict[str, Any]:
    path = f"/resource_providers/{uuid}"
    return {
        "inventories": small.call("GET", f"{path}/inventories").json()["inventories"],
        "traits": sorted(small.call("GET", f"{path}/traits").json()["traits"]),
        "aggregates": sorted(small.call("GET", f"{path}/aggregates").json()["aggregates"]),
    }


def is_rekeyed(site: Small, host: Rekeyed, held: dict, parts: dict) -> None:
    assert providers(site)[NEW] == host.name
    assert host.old not in providers(site)
    assert held_on(site, NEW) == held
    assert provider_parts(site, NEW) == parts
    assert parents(site)[host.agent] == parents(site)[host.device] == NEW
    assert parents(site)[host.bridge] == host.agent


def half_made(site: Small, tmp_path: Path, state: Path, requests: int) -> str:
    """A run that was killed after so many of the requests that make the new provider; its name."""
    path = tmp_path / "plan.json"
    assert rekey("--out", path).code == 3
    renamed, made, *_ = load(path).steps
    with applying(load(path), state, Origin()) as journal:
        journal.intend(renamed)
        site.write(renamed)
        journal.record(Outcome(renamed.id, "done", versions=(version_after(renamed.changes[0]),)))
        journal.intend(made)
    contents = made.changes[0].after
    body = {"name": contents.name, "uuid": NEW}
    assert site.call("POST", "/resource_providers", body).status_code == 200
    parts = {"inventories": {}, "traits": contents.traits, "aggregates": contents.aggregates}
    for generation, part in enumerate([*parts][:requests]):
        body = {"resource_provider_generation": generation, part: parts[part]}
        answer = site.call("PUT", f"/resource_providers/{NEW}/{part}", body)
        assert answer.status_code == 200, answer.text
    return journal.run


@pytest.mark.parametrize("requests", [0, 1, 2])
def test_invariant_10_a_run_killed_while_it_made_the_provider_goes_on(
    site_on, tmp_path, state, requests
):
    site = site_on("trueup")
    host = with_another_uuid(site)
    before, held, parts = site.ledger(), held_on(site, host.old), provider_parts(site, host.old)
    run = half_made(site, tmp_path, state, requests)
    ran = rekey("--apply", "--limit", 100)
    assert ran.code == 0, ran.out + ran.err
    is_rekeyed(site, host, held, parts)
    assert trueup("undo", run, "--limit", 100).code == 0
    assert site.ledger() == before


@pytest.mark.parametrize("requests", [0, 1, 2])
def test_invariant_10_a_run_killed_while_it_made_the_provider_is_undone(
    site_on, tmp_path, state, requests
):
    site = site_on("trueup")
    with_another_uuid(site)
    before = site.ledger()
    run = half_made(site, tmp_path, state, requests)
    ran = trueup("undo", run, "--limit", 100)
    assert ran.code == 4, "the request may still come"
    assert site.ledger() == before


def test_a_host_is_rekeyed_and_back(site, state):
    host = with_another_uuid(site)
    before, held, parts = site.ledger(), held_on(site, host.old), provider_parts(site, host.old)
    on_children = held_on(site, host.bridge), held_on(site, host.device)
    ran = rekey("--apply", "--limit", 100, "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    assert {row["verdict"] for row in ran.json()["steps"]} == {"done"}
    assert ran.json()["left"] == []
    is_rekeyed(site, host, held, parts)
    assert (held_on(site, host.bridge), held_on(site, host.device)) == on_children
    again = rekey("--apply")
    assert again.code == 0
    assert "Nothing is left to do." in again.err
    [journal] = runs(state)
    undone = trueup("undo", journal.run, "--limit", 100)
    assert undone.code == 0, undone.out + undone.err
    assert site.ledger() == before


def test_an_audit_afterwards_finds_nothing_about_the_host(site):
    with_another_uuid(site)
    assert rekey("--apply", "--limit", 100).code == 0
    audit = trueup("audit", "--host", HOST, "-f", "json")
    assert not {row["defect"] for row in audit.json()["findings"]} & {
        "provider-identity-clash",
        "wrong-provider",
        "doubled-allocation",
        "duplicate-provider",
    }


def test_without_proof_the_file_on_the_host_decides(site_on):
    site = site_on("trueup")
    host = with_another_uuid(site, deleted_row=False)
    before = site.rows()
    ran = rekey("--apply", "-f", "json")
    assert ran.code == 3
    assert "--compute-id and that uuid" in check_of(ran, "identity")["then"]
    ran = rekey("--apply", "--compute-id", host.old, "-f", "json")
    assert ran.code == 3
    then = check_of(ran, "identity")["then"]
    assert "Nova's database is the wrong side" in then
    assert f"UPDATE compute_nodes SET uuid = '{host.old}' WHERE id = " in then
    assert site.rows() == before
    ran = rekey("--compute-id", "71111111-2222-4333-8444-555555555555", "-f", "json")
    assert "which is neither" in check_of(ran, "identity")["then"]
    ran = rekey("--apply", "--compute-id", NEW, "--limit", 100)
    assert ran.code == 0, ran.out + ran.err
    assert providers(site)[NEW] == host.name


def test_nova_compute_is_stopped_and_moves_have_ended(site_on):
    site = site_on("trueup")
    host = with_another_uuid(site)
    seen = "2100-01-01 00:00:00"
    up = "UPDATE services SET forced_down = 0, last_seen_up = ? WHERE host = ?"
    site.sql("nova_cell1", up, seen, HOST)
    site.sql(
        "nova_cell1", "UPDATE instances SET task_state = 'migrating' WHERE uuid = ?", host.instance
    )
    ran = rekey("--apply", "-f", "json")
    assert ran.code == 3
    assert "stop nova-compute on it" in check_of(ran, "service")["then"]
    assert check_of(ran, "instance")["subject"] == host.instance
    assert NEW not in providers(site)


def test_a_write_in_between_is_refused_and_everything_still_holds(site, tmp_path):
    """Somebody releases an instance after the plan: what is half done is taken back first."""
    host, path = with_another_uuid(site), tmp_path / "rekey.json"
    assert rekey("--out", path).code == 3
    held = held_on(site, host.old)
    assert site.call("DELETE", f"/allocations/{host.instance}").status_code == 204
    del held[host.instance]
    assert trueup("apply", path, "--limit", 100).code == 4
    assert held_on(site, host.old) == held
    ran = rekey("-f", "json")
    assert ran.code == 3
    assert "is half done: with --apply it is continued, or taken back" in ran.err
    ran = rekey("--apply", "--limit", 100)
    assert ran.code == 0, ran.out + ran.err
    assert "is half done: what of it is in place is taken back" in ran.err
    assert held_on(site, NEW) == held


def test_what_can_neither_be_taken_back_nor_planned_anew_is_said(site_on, state):
    """An instance was deleted since; only the old provider is made again, out of the way."""
    site = site_on("trueup")
    host = with_another_uuid(site)
    assert rekey("--apply", "--limit", 100).code == 0
    assert site.call("DELETE", f"/allocations/{host.instance}").status_code == 204
    [journal] = runs(state)
    assert trueup("undo", journal.run, "--limit", 100).code == 4
    assert parents(site)[host.device] == NEW, "what is held stays in one tree"
    ran = rekey("--apply", "--limit", 100)
    assert ran.code == 4, ran.out + ran.err
    assert f"No step follows for what stays: see 'trueup journal {journal.run}'" in ran.err


def test_an_account_that_may_not_reshape_leaves_nothing_half_done(site, monkeypatch):
    """Upstream lets the admin role make and rename providers, and only services reshape."""
    with_another_uuid(site)
    before, send = site.ledger(), Placement.send
    forbidden = Response()
    forbidden.status_code, forbidden.url = 403, "http://placement/reshaper"

    def refused(self: Placement, method: str, path: str, *rest: Any) -> Any:
        return forbidden if path == "/reshaper" else send(self, method, path, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Placement, "send", refused)
        ran = rekey("--apply", "--limit", 100)
    assert ran.code == 5, ran.err
    assert "is half done: what of it is in place is taken back" in ran.err
    assert "An account with the service role is needed" in ran.err
    assert site.ledger() == before


def test_without_a_compute_service_nothing_is_planned(site_on):
    site = site_on("trueup")
    with_another_uuid(site)
    site.sql("nova_cell1", "UPDATE services SET deleted = id WHERE host = ?", HOST)
    ran = rekey("-f", "json")
    assert ran.code == 3, ran.err
    assert check_of(ran, "service")["verdict"] == "blocks"
    assert ran.json()["steps"] == []


def test_where_no_step_was_written_nothing_is_taken_back(site_on, monkeypatch):
    site = site_on("trueup")
    with_another_uuid(site)
    before = site.ledger()
    monkeypatch.setattr(
        "trueup.reconcile.runs.apply.broken", lambda *_: iter([because("it-may-be-up")])
    )
    ran = rekey("--apply", "--limit", 100)
    assert ran.code == 4, ran.err
    assert "taken back" not in ran.err
    assert site.ledger() == before


def test_the_plan_is_rehearsed(site_on, tmp_path):
    site = site_on("trueup")
    with_another_uuid(site)
    path = tmp_path / "rekey.json"
    assert rekey("--out", path).code == 3
    ran = trueup("rehearse", path)
    # What could not be judged while the uuids differed can be judged now, and has findings.
    assert (
        "Rehearsed: 6 of 6 steps done; of the findings that the plan remedies, left: 0" in ran.err
    )
    assert NEW not in providers(site)


def test_a_healthy_host_needs_nothing(site_on):
    site_on("trueup")
    ran = rekey("--apply", "-f", "json")
    assert (ran.code, ran.json()["steps"]) == (0, [])
    assert check_of(ran, "identity")["then"] == "nothing is to be done"


@pytest.mark.parametrize("words", [("--compute-id", "no-uuid"), ("--limit", 3), ("--yes",)])
def test_bad_input_is_refused(site_on, words):
    site_on("trueup")
    assert rekey(*words).code == 2
