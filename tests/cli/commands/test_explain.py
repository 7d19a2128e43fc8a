# SPDX-License-Identifier: Apache-2.0
"""`trueup explain` tells one subject, by name or uuid, in sentences or as a document."""

import pytest

from tests.cli.running import trueup


@pytest.fixture
def evacuated(small, nova_conf) -> tuple[str, str]:
    """The uuid and the name of an instance that was evacuated."""
    uuid = small.consumer("evacuation-residue")
    cell = f"nova_{small.planted['evacuation-residue'].cell}"
    [row] = small.sql(cell, "SELECT display_name FROM instances WHERE uuid = ?", uuid)
    return uuid, row["display_name"]


def test_a_finding_gives_its_code_and_its_story(small, evacuated):
    uuid, name = evacuated
    before = small.rows()
    ran = trueup("explain", "instance", uuid)
    assert ran.code == 3
    assert ran.out.startswith(f"instance {name} ({uuid})\n\nNova says\n  ")
    assert "evacuation-residue" in ran.out
    assert "The ledger counts it for project" in ran.out
    assert small.rows() == before


def test_by_name_it_is_the_same(evacuated):
    uuid, name = evacuated
    reported = trueup("explain", "instance", name, "-f", "json").json()
    assert reported["subject"] == {"kind": "instance", "uuid": uuid, "name": name}
    assert reported["findings"] == [f"evacuation-residue:{uuid}"]


def test_no_line_is_longer_than_asked_and_no_uuid_is_split(evacuated):
    uuid, _ = evacuated
    ran = trueup("explain", "consumer", uuid, "--max-width", 60)
    assert uuid in ran.out
    assert max(len(line) for line in ran.out.splitlines() if uuid not in line) <= 60


def test_hosts_and_providers_are_told_too(nova_conf):
    every = trueup("audit", "-f", "json").json()["findings"]
    [host] = {row["where"] for row in every if row["defect"] == "missing-allocation"}
    for kind in ("host", "provider"):
        ran = trueup("explain", kind, host, "-f", "json")
        assert ran.code in (0, 3)
        assert ran.json()["findings"] or kind == "provider"
    assert trueup("explain", "host", host).code == 3


def test_a_snapshot_is_told_as_the_cloud_is(evacuated, tmp_path):
    uuid, name = evacuated
    file = tmp_path / "a.snapshot"
    trueup("snapshot", "save", file)
    reported = trueup("explain", "instance", name, "--from", file, "-f", "json").json()
    assert reported["findings"] == [f"evacuation-residue:{uuid}"]


HOST = "SELECT id, uuid, name FROM resource_providers WHERE parent_provider_id IS NULL LIMIT 1"
# Each leaves the provider out of all lists of Placement's service.
UNLISTED = {
    "missing-provider": "DELETE FROM resource_providers WHERE id = ?",
    "broken-tree": "UPDATE resource_providers SET root_provider_id = NULL WHERE id = ?",
}


@pytest.mark.parametrize("defect", UNLISTED)
def test_a_provider_that_an_audit_names_is_told_though_placement_does_not_list_it(
    small, nova_conf, defect
):
    [host] = small.sql("placement", HOST)
    small.sql("placement", UNLISTED[defect], host["id"])
    database = ("--placement-database", f"sqlite:///{small.folder / 'placement.sqlite'}")
    finding = f"{defect}:{host['uuid']}"
    for name in (host["uuid"], host["name"]):
        reported = trueup("explain", "provider", name, *database, "-f", "json").json()
        assert finding in reported["findings"]
        selected = trueup("audit", "--provider", name, *database, "-f", "json").json()
        assert finding in {row["id"] for row in selected["findings"]}


def test_a_host_below_another_provider_has_the_finding_that_an_audit_of_all_has(small, nova_conf):
    """Its parent is in a tree that nothing else of the selection needs."""
    [above, below] = small.sql("placement", HOST.replace("LIMIT 1", "LIMIT 2"))
    made = "UPDATE resource_providers SET parent_provider_id = ? WHERE id = ?"
    small.sql("placement", made, above["id"], below["id"])
    [found] = [
        row
        for row in trueup("audit", "-f", "json").json()["findings"]
        if row["defect"] == "broken-tree"
    ]
    assert found["id"] == f"broken-tree:{below['uuid']}"
    selected = trueup("audit", "--provider", below["uuid"], "-f", "json").json()["findings"]
    assert [row for row in selected if row["id"] == found["id"]] == [found]
    reported = trueup("explain", "provider", below["uuid"], "-f", "json").json()
    assert found["id"] in reported["findings"]


def test_rows_that_refer_to_no_provider_are_told_by_the_name_that_an_audit_gives_them(
    small, nova_conf
):
    small.sql("placement", "UPDATE inventories SET resource_provider_id = 99 WHERE id = 1")
    database = ("--placement-database", f"sqlite:///{small.folder / 'placement.sqlite'}")
    ran = trueup("explain", "provider", "inventories 99", *database, "-f", "json")
    assert ran.code == 3
    assert ran.json()["findings"] == ["dangling-rows:inventories 99"]


@pytest.mark.parametrize("kind", ["instance", "provider", "consumer", "host"])
def test_what_nothing_knows_is_refused_with_a_sentence(nova_conf, kind):
    ran = trueup("explain", kind, "nobody")
    assert ran.code == 2
    assert f"neither Nova nor Placement has the {kind} 'nobody'" in ran.err


def test_a_name_that_several_have_is_listed(small, evacuated):
    uuid, name = evacuated
    other = small.consumer("wrong-provider")
    cell = f"nova_{small.planted['wrong-provider'].cell}"
    small.sql(cell, "UPDATE instances SET display_name = ? WHERE uuid = ?", name, other)
    ran = trueup("explain", "instance", name)
    assert ran.code == 2
    assert uuid in ran.err
    assert other in ran.err


def test_a_silent_cell_makes_a_story_incomplete(small, evacuated):
    (small.folder / "nova_cell0.sqlite").unlink()
    ran = trueup("explain", "instance", evacuated[0])
    assert ran.code == 5
    assert "cell0 did not answer" in ran.out


def test_nothing_is_claimed_of_what_only_a_silent_cell_knows(small, nova_conf):
    (small.folder / "nova_cell2.sqlite").unlink()
    ran = trueup("explain", "host", "compute-05")
    assert ran.code == 5
    assert "No consumer holds its resources" not in ran.out
    assert "It is not known which providers are its, because cell2 did not answer." in ran.out
    ran = trueup("explain", "instance", "queue-003")
    assert (ran.code, "neither Nova nor Placement" in ran.err) == (5, False)
    assert "nothing that was read has the instance 'queue-003', and cell2 did not" in ran.err
