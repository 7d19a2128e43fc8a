# SPDX-License-Identifier: Apache-2.0
"""`trueup capacity`: what it says is what boots, before and after a repair, on both services."""

import json
import shutil
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.capacity.test_document import STRICT
from tests.cli.running import trueup
from tests.reconcile.small import Small
from tests.scenarios.reading import read_cloud
from trueup.reconcile.copies.snapshot import Snapshot, save
from trueup.reconcile.facts import PLACEMENT, Coverage, SourceStatus

# What a server of the lab's largest flavor asks for, and amounts of which one more fits after a
# repair.
HUGE = {"VCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 160}
PART = {"MEMORY_MB": 11500}
ASKED = ("--resources", "MEMORY_MB=11500")


def let_report(small: Small) -> None:
    """Let every service that is not forced down report for as long as the tests take."""
    for cell in ("nova_cell1", "nova_cell2"):
        small.sql(cell, "UPDATE services SET last_seen_up = '2100-01-01 00:00:00'")


@pytest.fixture
def reporting(small: Small, nova_conf: Path) -> Small:
    let_report(small)
    return small


def said(*words: object) -> dict[str, Any]:
    """The only flavor of a document."""
    ran = trueup("capacity", "-f", "json", *words)
    assert ran.code == 0, ran.err
    [flavor] = ran.json()["flavors"]
    return flavor


def boots(small: Small, resources: dict[str, int], without: frozenset[str]) -> int:
    """How many servers Placement lets in, each on any host but these, until none is left."""
    count = 0
    asked = ",".join(f"{name}:{amount}" for name, amount in resources.items())
    path = f"/allocation_candidates?resources={asked}&root_required=!COMPUTE_STATUS_DISABLED"
    while True:
        answer = small.call("GET", path).json()
        hosts = [next(iter(one["allocations"])) for one in answer["allocation_requests"]]
        usable = [one for one in hosts if one not in without]
        if not usable:
            return count
        body = {
            "allocations": {usable[0]: {"resources": resources}},
            "project_id": "p", "user_id": "u", "consumer_generation": None,
        }  # fmt: skip
        assert small.call("PUT", f"/allocations/{uuid.uuid4()}", body).status_code == 204
        count += 1


def down(small: Small) -> frozenset[str]:
    """The providers of hosts whose service is down; a plan leaves them so."""
    cells = ("nova_cell1", "nova_cell2")
    rows = (row for cell in cells for row in small.sql(
        cell,
        "SELECT n.uuid FROM compute_nodes n JOIN services s ON s.host = n.host"
        " WHERE s.deleted = 0 AND n.deleted = 0 AND s.forced_down = 1",
    ))  # fmt: skip
    return frozenset(row["uuid"] for row in rows)


def test_as_many_servers_boot_as_it_says(site):
    let_report(site)
    flavor = said("--flavor", "lab.huge")
    assert flavor["at_most"] is False
    assert flavor["now"]["fits"] == boots(site, HUGE, down(site)) > 0
    assert said("--flavor", "lab.huge")["now"] == {"fits": 0, "hosts": 0, "most_on_one_host": 0}


def test_as_many_boot_after_a_plan_as_it_says_before(site, tmp_path):
    let_report(site)
    plan = tmp_path / "plan.json"
    trueup("plan", "--interval", 0.01, "--out", plan)
    before = said(*ASKED, "--plan", plan)
    assert before["after_plan"] == before["after_repair"]
    assert before["after_plan"] != before["now"]
    assert trueup("apply", plan).code == 0
    after = said(*ASKED)
    assert after["now"] == before["after_plan"] == after["after_repair"]
    assert after["now"]["fits"] == boots(site, PART, down(site)) == before["now"]["fits"] + 1


def test_every_flavor_has_a_row(reporting):
    ran = trueup("capacity", "-f", "json", "-c", "Flavor", "-c", "Fits now")
    rows = {row["Flavor"]: row["Fits now"] for row in ran.json()}
    assert list(rows) == [
        "lab.huge", "lab.large", "lab.medium", "lab.scratch", "lab.small", "lab.tiny",
    ]  # fmt: skip
    assert rows["lab.tiny"] > rows["lab.huge"]
    assert "Hosts are filled one after the other" in ran.err


def test_the_groups_of_hosts_add_up(reporting):
    whole = said("--flavor", "lab.huge")["now"]
    for by in ("cell", "zone", "host"):
        found = trueup("capacity", "--flavor", "lab.huge", "--by", by, "-f", "json").json()
        counts = [one["now"] for one in found["flavors"]]
        assert sum(one["fits"] for one in counts) == whole["fits"]
        assert sum(one["hosts"] for one in counts) == whole["hosts"]


def test_what_is_free_and_of_no_use(reporting):
    flavor = said("--flavor", "lab.huge")
    ran = trueup("capacity", "--flavor", "lab.huge", "--unusable", "-f", "json", "-c", "Class",
                 "-c", "Free", "-c", "Usable")  # fmt: skip
    rows = {row["Class"]: (row["Free"], row["Usable"]) for row in ran.json()}
    assert rows == {
        name: (flavor["free"][name], flavor["now"]["fits"] * amount)
        for name, amount in HUGE.items()
    }
    assert flavor["unusable"] == {name: free - usable for name, (free, usable) in rows.items()}


def test_a_mix(reporting):
    ran = trueup("capacity", "--mix", "lab.huge=2,lab.tiny=1", "-f", "json")
    assert (ran.code, ran.json()["mix"]) == (0, {"lab.huge": 2, "lab.tiny": 1}), ran.err
    huge, tiny = (flavor["now"]["fits"] for flavor in ran.json()["flavors"])
    assert 0 < huge <= said("--flavor", "lab.huge")["now"]["fits"]
    assert 0 <= huge - 2 * tiny <= 2
    assert f"In all: the whole mix fits {tiny} time" in ran.err
    STRICT.validate(ran.json())


def test_a_mix_fits_at_most_so_often_if_not_all_is_known(tmp_path):
    text = "cell1\n  host h1 VCPU=8 MEMORY_MB=99 up\n  server a on h1 VCPU=2 MEMORY_MB=9{}"
    for extra, said in (("", "fits 4 times"), (" capabilities:cpu=x", "fits at most 4 times")):
        path = tmp_path / "cloud.snapshot"
        save(Snapshot(read_cloud(text.format(extra)).facts()), path)
        ran = trueup("capacity", "--from", path, "--mix", "a-flavor=1")
        assert f"In all: the whole mix {said}." in ran.err


def test_a_mix_fits_at_most_so_often_if_traits_were_not_read(tmp_path):
    text = "cell1\n  host h1 VCPU=8 MEMORY_MB=99 up\n  server a on h1 VCPU=2 MEMORY_MB=9{}"
    over_api = Coverage((SourceStatus(PLACEMENT, True, read_via="API"),))
    for extra, said in (("", "fits 4 times"), (" trait:CUSTOM_X=required", "fits at most 4 times")):
        path = tmp_path / "cloud.snapshot"
        save(Snapshot(replace(read_cloud(text.format(extra)).facts(), coverage=over_api)), path)
        ran = trueup("capacity", "--from", path, "--mix", "a-flavor=1")
        assert f"In all: the whole mix {said}." in ran.err


def test_hosts_without_dedicated_cpus_may_be_used_all_the_same(tmp_path):
    path = tmp_path / "cloud.snapshot"
    save(Snapshot(read_cloud("cell1\n  host h1 VCPU=8 up\n").facts()), path)
    for name, said in (("PCPU", True), ("VCPU", False)):
        ran = trueup("capacity", "--from", path, "--resources", f"{name}=9")
        assert ("Nova may use their VCPU instead" in ran.err) == said, ran.err


def test_no_ratio_is_assumed_for_what_only_a_pool_has(tmp_path):
    text = "cell1\n  host h1 VCPU=8 up\n  provider pool DISK_GB=9 sharing\n"
    path = tmp_path / "cloud.snapshot"
    save(Snapshot(read_cloud(text).facts()), path)
    ran = trueup("capacity", "--from", path, "--resources", "VCPU=1", "--ratio", "DISK_GB=2")
    assert (ran.code, "no compute host has DISK_GB; known: VCPU" in ran.err) == (2, True), ran.err


def test_plain_amounts_and_traits(reporting):
    ran = trueup("capacity", "--resources", "VCPU=1,MEMORY_MB=512", "--trait", "HW_CPU_X86_AVX2")
    assert ran.code == 0
    assert "VCPU=1,MEMORY_MB=512,HW_CPU_X86_AVX2" in ran.out
    lacking = ("--resources", "VCPU=1", "--trait", "CUSTOM_NOBODY")
    [row] = trueup("capacity", *lacking, "-f", "json").json()["flavors"]
    assert row["now"]["fits"] == 0
    assert {(one["kind"], one["what"]) for one in row["binds"]} >= {
        ("filter", "required=CUSTOM_NOBODY")
    }


def test_a_snapshot_says_the_same_of_the_flavors_that_it_knows(reporting, tmp_path):
    path = tmp_path / "cloud.snapshot"
    trueup("snapshot", "save", path)
    living = {one["name"]: one for one in trueup("capacity", "-f", "json").json()["flavors"]}
    shutil.rmtree(reporting.folder)
    ran = trueup("capacity", "--from", path, "-f", "json")
    assert ran.code == 0
    kept = {one["name"]: one for one in ran.json()["flavors"]}
    assert kept
    for name, one in kept.items():
        assert one == living[name] | {"at_most": False, "not_counted": []}


def test_a_silent_cell_gives_its_code(reporting):
    (reporting.folder / "nova_cell2.sqlite").unlink()
    ran = trueup("capacity", "-f", "json")
    assert ran.code == 5
    document = ran.json()
    assert document["complete"] is False
    assert len(document["hosts"]["not_read"]) == 3
    assert "3 providers whose hosts were not read" in ran.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--flavor", "m1.none"), "m1.none is no flavor; known: lab.huge, "),
        (("--trait", "CUSTOM_FAST"), "only of use with --resources"),
        (("--resources", "VCPU"), "is not NAME=N"),
        (("--resources", "VCPU=0"), "0 makes no sense; name a number from 1 to 2147483647"),
        (("--resources", f"VCPU={10**20}"), "makes no sense; name a number from 1 to"),
        (("--resources", "VCPU=1,VCPU=2"), "VCPU is named twice"),
        (("--resources", "cpu=1"), "'cpu' is no resource class"),
        (("--mix", "lab.huge"), "is not NAME=N"),
        (("--resources", "VCPU=1", "--volume"), "--volume: it would be ignored"),
        (("--survive", 1, "--volume"), "leave out --flavor, --resources, --mix, --plan and"),
        (("--survive", 1, "--grace", 5), "--grace: it would be ignored: --survive counts"),
        (("--survive", 1, "--stuck-after", 5), "--stuck-after: it would be ignored"),
        (("--unusable", "--mix", "lab.huge=1"), "leave out --survive, --mix and --plan"),
        (("--mix", "lab.huge=1,lab.huge=2"), "lab.huge is named twice"),
        (("--mix", "m1.none=1"), "m1.none is no flavor; known: lab.huge, "),
        (("--mix", "lab.huge, old=1,lab.huge=1"), "lab.huge, old is no flavor; known: lab.huge, "),
        (("--mix", "lab.huge=1,lab.tiny"), "'lab.tiny' is not NAME=N"),
        (("--mix", "lab.huge=1,"), "'' is not NAME=N"),
    ],
)
def test_what_cannot_be_counted_is_refused(reporting, words, reason):
    ran = trueup("capacity", *words)
    assert (ran.code, reason in ran.err) == (2, True), ran.err


def test_a_plan_of_another_cloud_is_refused(nova_conf, plan_file, tmp_path):
    document = json.loads(plan_file.read_text())
    path = tmp_path / "edited.json"
    document["plan"]["cells"] = ["elsewhere"]
    path.write_text(json.dumps(document))
    assert trueup("capacity", "--plan", path).code == 2


def test_what_if_is_what_is_counted_when_it_is_done(reporting):
    [cell] = [
        name
        for name in ("nova_cell1", "nova_cell2")
        if reporting.sql(name, "SELECT 1 FROM services WHERE host = 'compute-01'")
    ]
    without = said("--flavor", "lab.huge", "--without", "compute-01")
    reporting.sql(cell, "UPDATE services SET disabled = 1 WHERE host = 'compute-01'")
    assert said("--flavor", "lab.huge")["now"] == without["now"]
    reporting.sql("placement", "UPDATE inventories SET allocation_ratio = 2, reserved = 7")
    done = said("--flavor", "lab.huge")["now"]
    reporting.sql("placement", "UPDATE inventories SET allocation_ratio = 1, reserved = 0")
    classes = ("VCPU", "MEMORY_MB", "DISK_GB")
    ratios = [word for name in classes for word in ("--ratio", f"{name}=2")]
    reserved = [word for name in classes for word in ("--reserved", f"{name}=7")]
    assert said("--flavor", "lab.huge", *ratios, *reserved)["now"] == done


def test_more_hosts_give_more_room(reporting):
    before = said("--flavor", "lab.huge")["now"]
    after = said("--flavor", "lab.huge", "--with", "compute-01=2")["now"]
    assert after["hosts"] == before["hosts"] + 2
    assert after["fits"] > before["fits"]


def test_failures_that_cannot_be_absorbed(reporting):
    ran = trueup("capacity", "--survive", 1, "-f", "json")
    assert ran.code == 0
    document = ran.json()
    assert len(document["failures"]) == 6
    STRICT.validate(document)
    filled = trueup("capacity", "--survive", 1, "--reserved", "MEMORY_MB=999999")
    assert (filled.code, "MEMORY_MB" in filled.out) == (3, True)
    assert "can be absorbed" in filled.err
    # They are there, and down.
    reporting.sql("nova_cell1", "UPDATE services SET forced_down = 1 WHERE host != 'compute-01'")
    ran = trueup("capacity", "--survive", 1, "--max-width", 300)
    assert (ran.code, "there is no other host" in ran.out) == (3, False)
    assert "no other host in its cell and zone takes servers" in ran.out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--without", "h9"), "h9 is no compute host; known: compute-01"),
        (("--with", "compute-01"), "'compute-01' is not NAME=NUMBER"),
        (("--ratio", "VCPU=-1"), "makes no sense"),
        (("--ratio", "VCPU=nan"), "makes no sense"),
        (("--with", "compute-01=1000001"), "name a number from 0 to 1000000"),
        (("--ratio", "VCPU=1", "--ratio", "VCPU=2"), "VCPU is named twice"),
        (("--ratio", "VPCU=2"), "no compute host has VPCU; known: "),
        (("--reserved", "vcpu=2"), "no compute host has vcpu; known: "),
        (("--survive", "0"), "1 or more"),
        (("--survive", "1", "--flavor", "lab.huge"), "about the servers that there are"),
        (("--resources", "VCPU=1", "--flavor", "lab.huge"), "only one"),
        (("--mix", "lab.huge=1", "--flavor", "lab.huge"), "only one"),
    ],
)
def test_what_cannot_be_assumed_is_refused(reporting, words, reason):
    ran = trueup("capacity", *words)
    assert (ran.code, reason in ran.err) == (2, True), ran.err
