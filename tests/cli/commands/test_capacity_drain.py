# SPDX-License-Identifier: Apache-2.0
"""`trueup capacity drain`: every server can go where it says, one after the other."""

import pytest

from tests.cli.commands.test_capacity import reporting, said
from tests.cli.running import trueup
from tests.reconcile.small import Small
from tests.scenarios.reading import read_cloud
from trueup.reconcile.copies.snapshot import Snapshot, save

__all__ = ["reporting"]


def test_the_servers_of_a_host_can_go_where_it_says(reporting):
    ran = trueup("capacity", "drain", "compute-02", "-f", "json")
    rows = ran.json()
    assert rows
    assert ran.code == (3 if any(not row["To"] for row in rows) else 0)
    assert f"of {len(rows)} server" in ran.err
    for row in rows:
        if not row["To"]:
            assert row["Remark"]
            continue
        move(reporting, row)


def move(small: Small, row: dict[str, str]) -> None:
    held = small.holding(row["UUID"])
    [(source, amounts)] = held["allocations"].items()
    [target] = small.sql(
        "placement", "SELECT uuid FROM resource_providers WHERE name = ?",
        f"{row['To']}.lab.example",
    )  # fmt: skip
    moved = {target["uuid"]: {"resources": amounts["resources"]}}
    assert source != target["uuid"]
    body = held | {"allocations": moved}
    assert small.call("PUT", f"/allocations/{row['UUID']}", body).status_code == 204


def test_a_cell_whose_services_stopped_reporting_counts_as_silent(reporting):
    reporting.sql("nova_cell1", "UPDATE services SET last_seen_up = '2020-01-01 00:00:00'")
    for words in ((), ("--survive", 1), ("drain", "compute-02"), ("drain", "--over-full")):
        ran = trueup("capacity", *words)
        assert (ran.code, "Not all was read, because cell1" in ran.err) == (5, True), ran.err
    assert "h9 is no compute host" in (err := trueup("capacity", "drain", "h9").err)
    assert "and not all: cell1" in err


def test_no_host_is_over_full(reporting):
    ran = trueup("capacity", "drain", "--over-full", "-f", "json")
    assert (ran.code, ran.json()) == (0, [])
    assert "No host has servers to move." in ran.err
    (reporting.folder / "nova_cell2.sqlite").unlink()
    ran = trueup("capacity", "drain", "--over-full")
    assert (ran.code, "No host that was read has servers to move." in ran.err) == (5, True)


def test_moves_make_room_for_a_flavor(reporting):
    before = said("--flavor", "lab.huge")["now"]["fits"]
    ran = trueup("capacity", "drain", "--for", "lab.huge", "-f", "json")
    assert (ran.code, f"{before} of lab.huge fit now" in ran.err) == (0, True), ran.err
    for row in ran.json():
        move(reporting, row)
        assert said("--flavor", "lab.huge")["now"]["fits"] == row["Fits then"]


def test_traits_that_flavors_name_are_read(reporting, monkeypatch):
    """A Placement without Trueup's export gives no other traits than those that are judged."""
    monkeypatch.setattr("trueup.reconcile.sources.placement.export.EXPORT", "/nothing")
    before = {row["Server"]: row["To"] for row in moves("compute-02")}
    for cell in ("nova_cell1", "nova_cell2"):
        # A trait that every host has.
        reporting.sql(
            cell,
            "UPDATE instance_extra SET flavor = replace(flavor, ?, ?)",
            '"extra_specs": {}',
            '"extra_specs": {"trait:HW_CPU_X86_AVX2": "required"}',
        )
    assert {row["Server"]: row["To"] for row in moves("compute-02")} == before


def moves(host: str) -> list[dict[str, str]]:
    return trueup("capacity", "drain", host, "-f", "json").json()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "name a host, or --over-full, or --for"),
        (("compute-01", "--over-full"), "only one"),
        (("--for", "m1.none"), "m1.none is no flavor; known: lab.huge"),
        (("h9",), "h9 is no compute host; known: compute-01"),
    ],
)
def test_what_cannot_be_drained_is_refused(reporting, words, reason):
    ran = trueup("capacity", "drain", *words)
    assert (ran.code, reason in ran.err) == (2, True), ran.err


def keep_apart(small: Small, policy: str) -> None:
    """One server group of all servers, with this policy."""
    rows = small.sql("nova_api", "SELECT instance_uuid FROM instance_mappings")
    small.sql("nova_api", "INSERT INTO instance_groups (id, uuid) VALUES (1, 'g')")
    word = "INSERT INTO instance_group_policy (policy, group_id) VALUES (?, 1)"
    small.sql("nova_api", word, policy)
    for row in rows:
        member = "INSERT INTO instance_group_member (instance_uuid, group_id) VALUES (?, 1)"
        small.sql("nova_api", member, row["instance_uuid"])


def test_a_server_group_keeps_its_members_where_they_are(reporting):
    assert any(row["To"] for row in moves("compute-02"))
    keep_apart(reporting, "anti-affinity")
    ran = trueup("capacity", "drain", "compute-02", "-f", "json")
    assert (ran.code, {row["To"] for row in ran.json()}) == (3, {""})
    assert "Not checked: the zone that a server was asked to be in." in ran.err
    assert all("its server group (anti-affinity): " in row["Remark"] for row in ran.json())
    assert "its server group (anti-affinity)" in trueup("capacity", "--survive", 1).out


@pytest.mark.parametrize("words", [("drain", "compute-02"), ("--survive", 1)])
def test_groups_that_cannot_be_read_are_said_and_nothing_else_is_silent(reporting, words):
    reporting.sql("nova_api", "DROP TABLE instance_group_member")
    ran = trueup("capacity", *words, "-f", "json")
    assert ran.code == 5
    assert "Server groups were not read: no such table: instance_group_member" in ran.err
    assert "Not checked: server groups" in ran.err
    assert "Not all was read" not in ran.err
    assert ran.json()


def test_who_is_in_an_affinity_group_is_not_said_if_no_group_was_read(reporting):
    words = ("capacity", "drain", "--for", "lab.huge")
    assert "or an affinity group are left where they are" in trueup(*words).err
    reporting.sql("nova_api", "DROP TABLE instance_group_member")
    ran = trueup(*words)
    assert (ran.code, "affinity" in ran.err) == (5, False), ran.err


@pytest.mark.parametrize(("policy", "said"), [("dedicated", True), ("shared", False)])
@pytest.mark.parametrize(
    "words", [("drain", "h1"), ("drain", "--for", "a-flavor"), ("--survive", 1)]
)
def test_dedicated_cpus_may_find_their_place_among_the_others(tmp_path, words, policy, said):
    text = f"""
cell1
  host h1 VCPU=8 MEMORY_MB=99 up
  host h2 VCPU=8 MEMORY_MB=99 up
  server a on h1 VCPU=9 MEMORY_MB=9 hw:cpu_policy={policy}
"""
    path = tmp_path / "cloud.snapshot"
    save(Snapshot(read_cloud(text).facts()), path)
    ran = trueup("capacity", *words, "--from", path)
    assert ran.code in (0, 3), ran.err
    assert ("Nova may use their VCPU instead" in ran.err) == said, ran.err
