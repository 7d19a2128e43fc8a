# SPDX-License-Identifier: Apache-2.0
"""`trueup rebuild` on a small broken cloud, and both Placements on what it makes."""

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from sqlalchemy.exc import OperationalError

from tests.cli.running import Ran, trueup
from tests.clouds.ledger import HEADERS, ledger_in
from tests.reconcile.small import Small
from tests.servers.placement import placement_server
from trueup.cli.commands import rebuild as rebuild_command
from trueup.lab.nova.databases import sqlite_url
from trueup.placement.store import fill


@pytest.fixture
def rebuild(small: Small, nova_conf: Path) -> Callable[..., Ran]:
    """Runs the command, with the old ledger in the small cloud's database."""
    old = ("--placement-database", sqlite_url(small.folder / "placement.sqlite"))

    def run(*words: object, lost: bool = False, check: bool = False) -> Ran:
        how = ("--lost",) if lost else () if check else old
        into = sqlite_url(small.folder / "new.sqlite")
        return trueup("rebuild", *how, "--into", into, *words)

    return run


def the_new(small: Small) -> dict:
    return ledger_in(small.folder / "new.sqlite")


def by_subject(ran: Ran) -> dict[str, dict]:
    return {one["Subject"]: one for one in ran.json()}


def test_nothing_is_written_without_apply(rebuild, small):
    before = small.rows()
    ran = rebuild("-f", "json")
    assert ran.code == 3, ran.err
    assert not (small.folder / "new.sqlite").exists()
    assert small.rows() == before
    assert "Nothing is written" in ran.err


def test_the_new_ledger_is_true_and_every_difference_has_its_reason(rebuild, small, tmp_path):
    before, old = small.rows(), small.ledger()
    backup = tmp_path / "old.json"
    ran = rebuild("--apply", "--backup", backup, "-f", "json")
    assert ran.code == 0, ran.err
    assert small.rows() == before, "the old database is only read"
    lines = by_subject(ran)
    planted = {kind: one.consumer_uuid for kind, one in small.planted.items()}
    assert planted.keys() <= {one["Reason"].split(":")[0] for one in lines.values()}
    assert lines[planted["orphaned-allocation"]]["New"] == "nothing"
    assert lines[planted["missing-allocation"]]["Old"] == "nothing"
    new = the_new(small)
    changed = set(lines)
    assert {uuid: held for uuid, held in new["allocations"].items() if uuid not in changed} == {
        uuid: held for uuid, held in old["allocations"].items() if uuid not in changed
    }
    assert new["providers"] == old["providers"]
    assert "An audit of it has 0 findings" in ran.err
    assert "connection = sqlite" in ran.err
    assert json.loads(backup.read_text())["consumers"].keys() == old["allocations"].keys()


def test_again_it_says_that_it_is_done(rebuild, small):
    assert rebuild("--apply").code == 0
    before = the_new(small)
    again = rebuild("--apply")
    assert again.code == 0
    assert "holds this ledger already" in again.err
    assert the_new(small) == before


def test_a_database_that_holds_something_else_is_refused(rebuild, small):
    assert rebuild("--apply").code == 0
    small.change_instance("missing-allocation", deleted=1, vm_state="deleted")
    before = the_new(small)
    refused = rebuild("--apply")
    assert refused.code == 2
    assert "holds another ledger" in refused.err
    assert the_new(small) == before


@pytest.mark.parametrize(
    ("by_hand", "said"),
    [
        ("DELETE FROM consumers WHERE uuid = :held", "whose consumer has no row (VCPU="),
        (
            "UPDATE resource_providers SET root_provider_id = NULL WHERE id IN "
            "(SELECT resource_provider_id FROM allocations WHERE consumer_id = :held)",
            "its root is not known",
        ),
        (
            "UPDATE resource_providers SET parent_provider_id = id WHERE id IN "
            "(SELECT resource_provider_id FROM allocations WHERE consumer_id = :held)",
            "its parents form a circle",
        ),
    ],
)
def test_rows_that_placement_does_not_list_are_refused(rebuild, small, by_hand, said):
    """SAFETY: they would not be in the new ledger."""
    small.sql("placement", by_hand.replace(":held", f"'{small.consumer('wrong-provider')}'"))
    for words in ((), ("--apply",)):
        refused = rebuild(*words)
        assert refused.code == 5
        assert said in refused.err
        assert "Nothing is written" in refused.err
        assert "trueup-manage db fsck --repair" in refused.err
    assert not (small.folder / "new.sqlite").exists()


def test_a_database_in_use_is_refused_and_left_as_it_is(small, nova_conf, tmp_path):
    """With --lost, nothing says which database is the one in use."""
    backup = tmp_path / "old.json"
    link = small.folder / "other-name.sqlite"
    link.symlink_to(small.folder / "placement.sqlite")
    old = ("--placement-database", sqlite_url(small.folder / "placement.sqlite"))
    small.sql("placement", "DROP TABLE trueup_changes")
    small.sql("placement", "DELETE FROM traits WHERE name LIKE 'HW_GPU%'")
    before = (small.folder / "placement.sqlite").read_bytes()
    for how in (("--lost",), (*old, "--backup", backup)):
        refused = trueup("rebuild", *how, "--into", sqlite_url(link), "--apply")
        assert refused.code == 2
        assert "Nothing is written" in refused.err
    assert (small.folder / "placement.sqlite").read_bytes() == before
    assert not backup.exists()


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("nonsense", 2, "Correct the connection URL"),
        ("sqlite:////no/such/folder/new.sqlite", 5, "unable to open database file"),
        ("mysql+pymysql://placement:secret@127.0.0.1:1/new", 5, "Connection refused"),
    ],
)
def test_a_new_database_that_cannot_be_used_is_named(small, nova_conf, url, code, said):
    old = sqlite_url(small.folder / "placement.sqlite")
    ran = trueup("rebuild", "--placement-database", old, "--into", url, "--apply")
    assert (ran.code, ran.out) == (code, "")
    assert "trueup: the new database " in ran.err
    assert said in ran.err
    assert "secret" not in ran.err


def test_a_new_database_that_is_full_is_named_and_filled_again(rebuild, small, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(fill, "_insert", full)
        ran = rebuild("--apply")
    assert ran.code == 5
    assert "the new database does not answer: database or disk is full" in ran.err
    assert rebuild("--apply").code == 0
    assert the_new(small)["providers"] == small.ledger()["providers"]


def test_tables_that_a_killed_rebuild_left_are_named(rebuild, small):
    """MariaDB commits each statement that makes a table; they cannot be made beside these."""
    small.sql("new", "CREATE TABLE placement_aggregates (id INTEGER)")
    refused = rebuild("--apply")
    assert refused.code == 2, refused.err
    assert "placement_aggregates" in refused.err
    assert "drop the tables that a killed rebuild left" in refused.err
    small.sql("new", "DROP TABLE placement_aggregates")
    assert rebuild("--apply").code == 0


def full(*_: object) -> None:
    raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))


@pytest.mark.parametrize(("wrong", "code"), [(False, 0), (True, 2)])
def test_of_two_that_fill_one_database_the_second_finds_it_done(
    rebuild, small, monkeypatch, wrong, code
):
    """Both have found it empty; what the other one has filled may be another ledger."""
    filling = rebuild_command.fill_database

    def second(*arguments: object) -> None:
        monkeypatch.setattr(rebuild_command, "fill_database", filling)
        assert rebuild("--apply").code == 0
        if wrong:
            small.sql("new", "DELETE FROM allocations")
        filling(*arguments)

    monkeypatch.setattr(rebuild_command, "fill_database", second)
    ran = rebuild("--apply")
    assert ran.code == code, ran.err
    assert ("holds another ledger" if wrong else "holds this ledger already") in ran.err


@pytest.mark.parametrize("tables", [("wp_posts",), [f"t{number}" for number in range(9)]])
def test_a_database_of_somebody_else_is_refused(rebuild, small, tables):
    for name in tables:
        small.sql("new", f"CREATE TABLE {name} (id INTEGER)")
    refused = rebuild("--apply")
    assert refused.code == 2
    assert f"tables of another program or release: {tables[0]}" in refused.err
    assert (" and others" in refused.err) == (len(tables) > 1)
    found = small.sql("new", "SELECT name FROM sqlite_master ORDER BY name")
    assert [row["name"] for row in found] == list(tables)


def test_novas_own_database_is_refused(small, nova_conf):
    before = small.sql("nova_api", "SELECT name FROM sqlite_master")
    into = sqlite_url(small.folder / "nova_api.sqlite")
    refused = trueup("rebuild", "--lost", "--into", into, "--apply")
    assert refused.code == 2
    assert "tables of another program" in refused.err
    assert small.sql("nova_api", "SELECT name FROM sqlite_master") == before


def test_a_lost_ledger_is_made_from_nova(rebuild, small):
    """Inventories as nova-compute would report them; each instance holds what it should."""
    assert trueup("plan", "--interval", 0.01, "--out", small.folder / "p.json").code == 3
    assert trueup("apply", small.folder / "p.json").code == 0
    right = small.ledger()
    ran = rebuild("--apply", "--by-reason", "-f", "json", lost=True)
    assert ran.code == 0, ran.err
    assert "reserved_host_memory_mb=512" in ran.err
    found = the_new(small)
    assert found["providers"][:2] == right["providers"][:2], "providers and their inventories"
    lost = right["allocations"].keys() - found["allocations"].keys()
    known = {uuid for cell in ("nova_cell1", "nova_cell2") for uuid in _instances(small, cell)}
    assert not lost & known, "only what other services held cannot be known"
    kept = {uuid: held for uuid, held in right["allocations"].items() if uuid not in lost}
    assert found["allocations"] == kept
    counts = [one["Count"] for one in ran.json() if one["Kind"] == "consumer"]
    assert sum(counts) == len(kept)


@pytest.mark.parametrize("placement", ["trueup", "upstream"])
def test_both_placements_serve_it_and_go_on_with_it(rebuild, small, placement):
    assert rebuild("--apply").code == 0
    with placement_server(placement, sqlite_url(small.folder / "new.sqlite")) as server:
        consumer = small.consumer("missing-allocation")
        url = f"{server.url}/allocations/{consumer}"
        headers = {**HEADERS, "OpenStack-API-Version": "placement 1.36"}
        held = requests.get(url, headers=headers, timeout=30).json()
        assert held["consumer_generation"] == 1
        again = requests.put(url, headers=headers, json=held, timeout=30)
        assert again.status_code == 204, again.text
        made = requests.post(
            f"{server.url}/resource_providers", headers=headers, json={"name": "one more"},
            timeout=30,
        )  # fmt: skip
        assert made.status_code == 200, made.text
    # The same provider generations go on, and never fall.
    assert the_new(small)["allocations"][consumer]


def test_the_check_names_who_has_not_reported(rebuild, small):
    assert rebuild("--apply", lost=True).code in (0, 3)
    before = rebuild("--check", "-f", "json", check=True)
    assert before.code == 3
    assert len(before.json()) == len(the_new(small)["providers"][0])
    copied = small.folder / "new.sqlite"
    copied.unlink()
    assert rebuild("--apply").code == 0
    after = rebuild("--check", "-f", "json", check=True)
    assert (after.code, after.json()) == (0, []), after.err
    (small.folder / "nova_cell2.sqlite").unlink()
    silent = rebuild("--check", check=True)
    assert (silent.code, "0 compute nodes of 3 did not report yet" in silent.err) == (5, True)
    assert "Not all was read, because cell2 did not answer: there may be more" in silent.err


def test_the_check_that_is_printed_is_of_the_same_cloud(rebuild, nova_conf, tmp_path):
    ran = rebuild("--apply", "--nova-conf", nova_conf, "--grace", 9)
    [line] = re.findall(r"Then: trueup (.*), and trueup plan", ran.err)
    assert line.endswith(f" --wait 600 --grace 9 --nova-conf {nova_conf}"), line
    into = sqlite_url(tmp_path / "cloud" / "new.sqlite")
    words = ["0" if word == "600" else into if word == "URL" else word for word in line.split()]
    assert trueup(*words).code == 0


def test_a_cell_that_is_silent_is_no_evidence(rebuild, small):
    (small.folder / "nova_cell2.sqlite").unlink()
    ran = rebuild("--apply")
    assert ran.code == 5
    assert "would be missing in the new ledger" in ran.err
    assert not (small.folder / "new.sqlite").exists()


@pytest.mark.parametrize("lost", [True, False])
def test_what_could_not_be_checked_is_named_and_no_all_clear(rebuild, small, lost):
    """SAFETY: instances of a host without a uuid are not in a ledger that was lost."""
    [row] = small.sql("nova_cell1", "SELECT id, host FROM compute_nodes ORDER BY id LIMIT 1")
    small.sql("nova_cell1", "UPDATE compute_nodes SET uuid = NULL WHERE id = ?", row["id"])
    left_out = {
        one["uuid"]
        for one in small.sql(
            "nova_cell1",
            "SELECT uuid FROM instances WHERE deleted = 0 AND host = ? AND task_state IS NULL",
            row["host"],
        )
    }
    for words in ((), ("--apply",)):
        ran = rebuild(*words, "-f", "json", lost=lost)
        assert ran.code == 5, ran.err
        lines = by_subject(ran)
        for one in (row["host"], *left_out):
            assert "could not be checked: its compute node" in lines[one]["Reason"]
        count = sum("could not be checked" in one["Reason"] for one in lines.values())
        assert f"{count} of them could not be checked" in ran.err
    assert "An audit of it has 0 findings, and" in ran.err
    assert "Read those lines first" in ran.err
    assert left_out.isdisjoint(the_new(small)["allocations"]) == lost
    check = rebuild("--check", "-f", "json", check=True)
    assert check.code == 5
    for one in (f"host {row['host']}", *(f"consumer {uuid}" for uuid in left_out)):
        assert f"{one} could not be checked: its compute node" in check.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--wait", "5"), "--wait: it is for --check"),
        (("--lost",), "--lost: an old database is named as well"),
        (("--check",), "--placement-database: --check only looks"),
    ],
)
def test_what_makes_no_sense_is_refused(rebuild, words, said):
    ran = rebuild(*words)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.parametrize("lost", [(), ("--lost",)])
def test_nova_over_its_api_alone_is_not_enough(tmp_path, lost):
    new = tmp_path / "new.sqlite"
    ran = trueup("rebuild", "--nova-api", "--os-cloud", "a-cloud", "--into", sqlite_url(new), *lost)
    assert ran.code == 2
    assert "allocation ratios" in ran.err
    assert "name a nova.conf with --nova-conf, or Nova's API database" in ran.err
    assert not new.exists()


def test_the_old_database_is_never_the_new_one(small, nova_conf):
    url = sqlite_url(small.folder / "placement.sqlite")
    ran = trueup("rebuild", "--placement-database", url, "--into", url, "--apply")
    assert ran.code == 2
    assert "--into: it is the old database" in ran.err


def test_the_old_database_is_known_by_another_address(rebuild, small, nova_conf):
    """Its ledger is right, so that nothing else tells it from one that was filled before."""
    new, link = small.folder / "new.sqlite", small.folder / "other-name.sqlite"
    first = trueup(
        "rebuild", "--placement-database", sqlite_url(small.folder / "placement.sqlite"),
        "--into", sqlite_url(new), "--apply",
    )  # fmt: skip
    assert "To cut over" in first.err
    link.symlink_to(new)
    ran = trueup(
        "rebuild", "--placement-database", sqlite_url(new), "--into", sqlite_url(link), "--apply"
    )
    assert (ran.code, ran.out) == (2, "")
    assert "--into: it is the old database by another address" in ran.err
    assert "To cut over" not in ran.err


def _instances(small: Small, cell: str) -> list[str]:
    rows = small.sql(cell, "SELECT uuid FROM instances UNION SELECT uuid FROM migrations")
    return [row["uuid"] for row in rows]
