# SPDX-License-Identifier: Apache-2.0
"""trueup why --server: from Nova's databases to the filters of Placement and of Nova."""

import json
import re

import pytest

from tests.cli.running import Ran, trueup
from tests.clouds.neutron import Neutron, served_beside
from trueup.exit_codes import ExitCode

GROUP = "6f1b1f3e-1f9c-4c39-9d1c-1d0e4ff1a111"
EARLIER, BEFORE, AFTER = (f"202{year}-01-01 00:00:00.000000" for year in range(3))
PORT, REQUEST = (f"{digit * 8}-c3aa-4d0e-9f5c-7f3a2f1d5a01" for digit in "56")
UNKNOWN_PORTS = "what its ports ask for (minimum bandwidth, packet rate)"
NOTHING_SINCE = (
    "Since then 0 compute nodes came, 0 compute nodes went. "
    "Written in Placement: 0 consumers, and inventories of 0 providers."
)


@pytest.fixture
def server(small, nova_conf) -> str:
    """A server that is right where it is."""
    uuid = small.consumer("missing-allocation")
    # Services of the lab reported when it was made.
    for cell in ("nova_cell1", "nova_cell2"):
        small.sql(cell, "UPDATE services SET last_seen_up = datetime('now'), disabled = 0")
    return uuid


@pytest.fixture
def why(small, server):
    """`why(*words)`: about that server."""
    database = f"sqlite:///{small.folder}/placement.sqlite"

    def asked(*words: object) -> Ran:
        return trueup("why", "--server", server, "--database", database, *words)

    return asked


def rows(ran: Ran) -> dict[str, dict]:
    return {row["Filter"]: row for row in ran.json()}


def cell_of(small, uuid: str) -> str:
    return next(
        cell
        for cell in ("nova_cell1", "nova_cell2")
        if small.sql(cell, "SELECT 1 FROM instances WHERE uuid = ?", uuid)
    )


def test_both_halves_are_in_one_table(why):
    ran = why("-f", "json")
    assert ran.code == ExitCode.CLEAN, ran.err
    names = list(rows(ran))
    assert names[0] == "all hosts"
    assert names.index("root_required=!COMPUTE_STATUS_DISABLED") < names.index("ComputeFilter")
    assert "hosts with candidates are left" in ran.err
    assert "Not in Nova's databases: what its ports ask for" in ran.err


@pytest.fixture
def neutron(server, nova_conf):
    """A Neutron in nova.conf that has a port of the server, which asks for bandwidth."""
    wanted = {"id": REQUEST, "required": [], "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}}
    port = {"id": PORT, "device_id": server, "device_owner": "compute:nova"}
    port["resource_request"] = {"request_groups": [wanted]}
    with served_beside(Neutron({PORT: port}), nova_conf) as neutron:
        yield neutron


def test_what_its_ports_ask_for_is_asked_too(why, neutron):
    asked = f"resources{REQUEST}=NET_BW_EGR_KILOBIT_PER_SEC:1000"
    for words in ((), ("--move", "live-migration")):
        ran = why(*words, "-f", "json")
        assert ran.code == ExitCode.FINDINGS, ran.err
        assert rows(ran)[asked]["Hosts left"] == 0
        assert UNKNOWN_PORTS not in ran.err
    neutron.ports[PORT]["resource_request"] = None
    ran = why("-f", "json")
    assert (ran.code, UNKNOWN_PORTS in ran.err, "At most" in ran.err) == (0, False, False), ran.err


def test_ports_that_a_server_was_to_get_are_named(small, server, why, neutron):
    neutron.ports[PORT]["device_id"] = ""
    small.sql(cell_of(small, server), "UPDATE instances SET host = NULL WHERE uuid = ?", server)
    ran = why()
    assert (ran.code, UNKNOWN_PORTS in ran.err, "At most" in ran.err) == (0, True, True), ran.err
    ran = why("--port", PORT)
    assert (ran.code, UNKNOWN_PORTS in ran.err) == (ExitCode.FINDINGS, False), ran.err
    ran = why("--port", GROUP)
    assert (ran.code, f"Neutron has no port {GROUP}" in ran.err) == (ExitCode.USAGE, True), ran.err


def test_a_silent_neutron_leaves_ports_open(why, neutron, nova_conf):
    others, _, section = nova_conf.read_text().partition("[neutron]")
    nova_conf.write_text(f"{others}[neutron]{re.sub(':[0-9]+', ':9', section)}")
    ran = why("--move", "live-migration")
    assert ran.code == ExitCode.INCOMPLETE, ran.err
    assert "Neutron does not say what its ports ask for" in ran.err
    assert (UNKNOWN_PORTS in ran.err, "At most" in ran.err) == (True, True)
    nova_conf.write_text(others)
    assert "nova.conf has no [neutron]" in why("--port", PORT).err


def test_a_move_that_nova_refuses_now_is_answered_and_named(small, server, why):
    row = "UPDATE instances SET vm_state = ?, task_state = ? WHERE uuid = ?"
    for state, task, words in (
        ("resized", None, "it is resized, and not active or paused"),
        ("active", "resize_prep", "its task resize_prep has not ended"),
    ):
        small.sql(cell_of(small, server), row, state, task, server)
        ran = why("--move", "live-migration")
        assert (ran.code, f"Nova refuses the move now: {words}." in ran.err) == (0, True), ran.err
        assert "Nova refuses" not in why().err
    small.sql(cell_of(small, server), row, "active", None, server)
    assert "Nova refuses" not in why("--move", "live-migration").err
    refused = "Nova refuses the move now: the service of its host is"
    assert f"{refused} up." in why("--move", "evacuate").err
    small.sql(cell_of(small, server), "UPDATE services SET forced_down = 1")
    assert "Nova refuses" not in why("--move", "evacuate").err
    assert f"{refused} down." in why("--move", "live-migration").err


def test_a_group_keeps_a_server_from_every_other_host(small, why, server):
    everyone = small.sql(
        cell_of(small, server), "SELECT uuid FROM instances WHERE deleted = 0 AND host IS NOT NULL"
    )
    insert = "INSERT INTO instance_groups (id, uuid) VALUES (1, ?)"
    small.sql("nova_api", insert, GROUP)
    policy = "INSERT INTO instance_group_policy (policy, group_id) VALUES ('anti-affinity', 1)"
    small.sql("nova_api", policy)
    for row in everyone:
        member = "INSERT INTO instance_group_member (instance_uuid, group_id) VALUES (?, 1)"
        small.sql("nova_api", member, row["uuid"])
    ran = why("-f", "json", "--move", "live-migration")
    assert ran.code == ExitCode.FINDINGS, ran.err
    assert "No host is left after ServerGroupAntiAffinityFilter" in ran.err
    found = rows(ran)["ServerGroupAntiAffinityFilter"]
    assert (found["Hosts left"], found["Left without it"] > 0) == (0, True)
    assert any("of its server group" in line for line in found["Nearest that it leaves out"])
    assert rows(ran)["hosts to leave out"]["Nearest that it leaves out"]


def test_the_filters_are_those_of_nova_conf(why, nova_conf):
    nova_conf.write_text(
        nova_conf.read_text()
        + "[filter_scheduler]\nenabled_filters = AggregateInstanceExtraSpecsFilter,OurOwnFilter\n"
    )
    ran = why("-f", "json")
    assert list(rows(ran))[-2:] == ["AggregateInstanceExtraSpecsFilter", "OurOwnFilter"]
    assert "OurOwnFilter for 6 hosts (Trueup does not know this filter)" in ran.err
    assert "At most" in ran.err


def test_a_value_that_nova_refuses_is_named(why, nova_conf):
    known = nova_conf.read_text()
    nova_conf.write_text(known + "[filter_scheduler]\nmax_instances_per_host = many\n")
    ran = why()
    assert (ran.code, "max_instances_per_host" in ran.err) == (ExitCode.USAGE, True), ran.err
    nova_conf.write_text("[DEFAULT]\nservice_down_time = soon\n" + known)
    assert why().code == ExitCode.USAGE


def test_a_resize_asks_for_another_flavor(small, why):
    size = "'big', '77', 900, 1048576, 9, 0, 0"
    columns = "id, name, flavorid, vcpus, memory_mb, root_gb, ephemeral_gb, swap"
    small.sql("nova_api", f"INSERT INTO flavors ({columns}) VALUES (77, {size})")
    specs = "INSERT INTO flavor_extra_specs (flavor_id, key, value) VALUES (77, ?, ?)"
    small.sql("nova_api", specs, "trait:HW_CPU_X86_AVX512F", "forbidden")
    ran = why("--move", "resize:big", "-f", "json")
    assert (
        "asked: required=!HW_CPU_X86_AVX512F&resources=DISK_GB:9,MEMORY_MB:1048576,VCPU:900"
        in ran.err
    )
    assert ran.code == ExitCode.FINDINGS
    assert why("--move", "resize:none").code == ExitCode.USAGE
    small.sql("nova_api", specs, "trait:CUSTOM_UNKNOWN", "required")
    err = why("--move", "resize:big").err
    assert "Placement refuses the query, so Nova finds no host: No such trait(s)" in err


def test_a_resize_to_dedicated_cpus_needs_numa_cells(small, why, nova_conf):
    nova_conf.write_text(
        nova_conf.read_text()
        + "[filter_scheduler]\nenabled_filters = NUMATopologyFilter,PciPassthroughFilter\n"
        + "[workarounds]\ndisable_fallback_pcpu_query = false\n"
    )
    columns = "id, name, flavorid, vcpus, memory_mb, root_gb, ephemeral_gb, swap"
    small.sql(
        "nova_api", f"INSERT INTO flavors ({columns}) VALUES (77, 'pinned', '77', 2, 256, 1, 0, 0)"
    )
    specs = "INSERT INTO flavor_extra_specs (flavor_id, key, value) VALUES (77, ?, ?)"
    small.sql("nova_api", specs, "hw:cpu_policy", "dedicated")
    ran = why("--move", "resize:pinned", "-f", "json")
    assert ran.code == ExitCode.FINDINGS
    assert rows(ran)["NUMATopologyFilter"]["Hosts left"] == 0
    assert "reports no NUMA cells" in str(rows(ran)["NUMATopologyFilter"])
    cell = {"id": 0, "cpuset": [0], "pcpuset": [1, 2, 3], "memory": 9999, "pinned_cpus": []}
    cell |= {"cpu_usage": 0, "memory_usage": 0, "siblings": [[0, 1], [2, 3]], "mempages": []}
    text = json.dumps({"nova_object.data": {"cells": [{"nova_object.data": cell}]}})
    for database in ("nova_cell1", "nova_cell2"):
        small.sql(database, "UPDATE compute_nodes SET numa_topology = ?", text)
    ran = why("--move", "resize:pinned", "-f", "json")
    assert rows(ran)["NUMATopologyFilter"]["Hosts left"] > 0, ran.out
    small.sql("nova_api", specs, "hw:cpu_thread_policy", "isolate")
    lacks = str(rows(why("--move", "resize:pinned", "-f", "json"))["NUMATopologyFilter"])
    assert "no cores for 2 CPUs with the thread policy isolate" in lacks
    small.sql("nova_api", specs, "hw:numa_nodes", "3")
    ran = why("--move", "resize:pinned")
    assert (ran.code, "Nova refuses it before it asks Placement" in ran.err) == (2, True)


def test_hosts_that_are_not_judged_are_none_of_those_that_are_left_out(
    small, why, server, nova_conf
):
    enabled = "[filter_scheduler]\nenabled_filters = NUMATopologyFilter\n"
    nova_conf.write_text(nova_conf.read_text() + enabled)
    cell = {"id": 0, "cpuset": [0], "memory": 64}
    topology = {"nova_object.data": {"cells": [{"nova_object.data": cell}]}}
    small.sql(
        "nova_api",
        "UPDATE request_specs SET spec = json_set(spec, '$.\"nova_object.data\".numa_topology',"
        " json(?)) WHERE instance_uuid = ?",
        json.dumps(topology),
        server,
    )
    bad = "UPDATE compute_nodes SET numa_topology = '{' WHERE host = 'compute-01'"
    small.sql("nova_cell1", bad)
    row = rows(why("-f", "json"))["NUMATopologyFilter"]
    assert row["Hosts left"] == 1
    assert row["Nearest that it leaves out"][-2:] == ["and 2 more", "not judged: 1 of those left"]


def test_the_fault_and_what_changed_since(small, why, server):
    columns = "instance_uuid, created_at, message, code, deleted"
    fault = f"INSERT INTO instance_faults ({columns}) VALUES (?, ?, 'No valid host', 500, 0)"
    small.sql(cell_of(small, server), fault, server, BEFORE)
    for cell in ("nova_cell1", "nova_cell2"):
        small.sql(cell, "UPDATE compute_nodes SET created_at = ?", EARLIER)
    for table in ("allocations", "inventories"):
        small.sql("placement", f"UPDATE {table} SET created_at = ?, updated_at = NULL", EARLIER)
    assert NOTHING_SINCE in why().err
    small.sql("nova_cell1", "UPDATE compute_nodes SET created_at = ? WHERE id = 1", AFTER)
    gone = "UPDATE compute_nodes SET deleted = id, deleted_at = ? WHERE id = ?"
    small.sql("nova_cell2", gone, AFTER, 1)
    held = len(small.sql("placement", "SELECT DISTINCT consumer_id FROM allocations"))
    small.sql("placement", "UPDATE allocations SET updated_at = ?", AFTER)
    small.sql("placement", "UPDATE inventories SET created_at = ? WHERE id = 1", AFTER)
    err = why().err
    assert f"'No valid host' at {BEFORE[:19]}" in err
    assert "Since then 1 compute node came, 1 compute node went." in err
    assert f"Written in Placement: {held} consumers, and inventories of 1 provider." in err


def test_a_silent_cell_makes_the_answer_incomplete(small, why, server):
    other = {"nova_cell1", "nova_cell2"} - {cell_of(small, server)}
    (small.folder / f"{other.pop()}.sqlite").write_text("no database")
    ran = why()
    assert ran.code == ExitCode.INCOMPLETE
    assert "Did not answer, so its hosts are left out" in ran.err


def test_a_server_whose_cell_is_silent_may_be_there(small, why, server):
    (small.folder / f"{cell_of(small, server)}.sqlite").write_text("no database")
    ran = why()
    assert (ran.code, "no cell has a row" in ran.err.lower()) == (ExitCode.INCOMPLETE, False)
    ran = why("--move", "live-migration")
    assert (ran.code, "the server may be there" in ran.err) == (ExitCode.INCOMPLETE, True), ran.err


def test_a_server_that_is_being_built_has_no_row(small, why, server):
    small.sql(cell_of(small, server), "DELETE FROM instances WHERE uuid = ?", server)
    ran = why()
    assert "No cell has a row of it: it is being built" in ran.err
    ran = why("--move", "live-migration")
    assert (ran.code, "cannot move: no cell has a row of it" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--move", "unshelve"), "not shelved_offloaded"),
        (("--move", "fly"), "none of live-migration"),
        (("--microversion", "1.30"), "Nova chooses it"),
        (("--flavor", "4"), "only one"),
    ],
)
def test_what_cannot_be_asked_is_refused(why, words, said):
    ran = why(*words)
    assert (ran.code, said in ran.err) == (ExitCode.USAGE, True), ran.err


def test_a_server_that_nova_does_not_know(small, nova_conf):
    ran = trueup(
        "why", "--server", GROUP, "--database", f"sqlite:///{small.folder}/placement.sqlite"
    )
    assert (ran.code, "no request spec" in ran.err) == (ExitCode.USAGE, True)
    small.sql("nova_api", "UPDATE request_specs SET spec = '[]'")
    uuid = small.consumer("missing-allocation")
    ran = trueup(
        "why", "--server", uuid, "--database", f"sqlite:///{small.folder}/placement.sqlite"
    )
    assert (ran.code, "cannot be read" in ran.err) == (ExitCode.USAGE, True)
