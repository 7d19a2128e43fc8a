# SPDX-License-Identifier: Apache-2.0
"""Nova over its API: answers of a real one (nova 34.0.0), with and without a cell that is down.

How they were recorded, and how to record them again, is said in tests/clouds/answers.py.
"""

import copy
from typing import Any

import pytest
from keystoneauth1 import session

from tests.clouds import answers
from tests.reconcile.sources.broken_server import Reply, adapter_of, answering
from trueup.reconcile.facts import Flavor, InstanceState, ServerGroup
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.nova import api as nova_api
from trueup.reconcile.sources.nova.api import ANSWERING_CELLS, DOWN_CELLS, NovaApi
from trueup.reconcile.sources.nova.contract import InstanceFilter

GONE, GONE_THERE = "815de3c2-9295-4060-942b-e8a23f66f8c3", "e37ad87a-8751-4e95-aa8d-0f1c6aa0782f"
MOVING, THERE = "a6e58088-45f6-4d7a-ac43-234f8fabeeb1", "fef2cece-2207-4ef8-a1fe-849bc5da4372"
MOVE = "5cc827a5-5bc5-4f62-b0d1-e2fbb2c49bb1"
FIRST = "GET /servers/detail?all_tenants=1"


@pytest.fixture(scope="module")
def recorded():
    return answers.load("every-kind/api")


@pytest.fixture
def nova(recorded):
    with answers.replayed(recorded) as adapter:
        yield NovaApi(adapter)


@pytest.fixture
def with_a_cell_down():
    with answers.replayed(answers.load("every-kind/api-cell-down")) as adapter:
        yield NovaApi(adapter)


def test_the_services_of_one_host_and_none_of_a_cell_that_is_down(nova, with_a_cell_down):
    whole = nova.hosts(ANSWERING_CELLS).services
    for host in ("devstack1", "devstack2", "nowhere"):
        found = nova.service_reports(ANSWERING_CELLS, host)
        assert found.services == tuple(row for row in whole if row.host == host)
        assert found.heartbeat is None
    with pytest.raises(Unreachable):
        with_a_cell_down.service_reports(DOWN_CELLS, "devstack3")


def test_an_aggregate_without_a_uuid_is_noted_and_left_out(recorded):
    changed = copy.deepcopy(recorded)
    [key] = [one for one in changed if one.startswith("GET /os-aggregates")]
    listed = changed[key][1]["aggregates"]
    listed.append({"uuid": None, "name": "old", "hosts": [], "metadata": {}})
    listed.append({"uuid": "rack-1", "name": "rack", "hosts": [], "metadata": {}})
    listed.append({"uuid": GONE, "name": "fast", "hosts": [], "metadata": {}})
    with answers.replayed(changed) as adapter:
        registry = NovaApi(adapter).registry(())
    assert [(row.uuid, row.name) for row in registry.host_aggregates] == [(GONE, "fast")]
    assert [(one.table, one.row) for one in registry.noted.unread] == [
        ("aggregates", "old"),
        ("aggregates", "rack"),
    ]


def older(answers_: answers.Answers, minor: int) -> answers.Answers:
    """The same cloud as a Nova of this microversion would answer."""
    changed = {key.replace(" 2.98", f" 2.{minor}"): row for key, row in answers_.items()}
    status, root = copy.deepcopy(answers_["GET /"])
    root["version"]["version"] = f"2.{minor}"
    return changed | {"GET /": (status, root)}


def test_servers_are_instances(nova):
    found = {one.name: one for one in nova.contents(ANSWERING_CELLS).instances}
    assert len(found) == 14
    pinned = found["pinned"]
    assert (pinned.host, pinned.node, pinned.vm_state) == ("devstack1", "devstack1", "active")
    assert pinned.flavor == Flavor(
        "x.pinned", 4, 128, 2, 0, 0,
        {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
    )  # fmt: skip
    assert (pinned.deleted, pinned.volume_backed, pinned.pci_requests) == (False, False, ())
    assert found["byimage"].image_properties == {"hw_cpu_policy": "dedicated"}
    assert found["shelf"].host is None
    assert {one.cell for one in found.values()} == {ANSWERING_CELLS.uuid}
    assert all(one.ports_hold for one in found.values()), "the API does not show which of them do"


def test_hosts_services_and_moves(nova):
    contents = nova.contents(ANSWERING_CELLS)
    assert {(one.host, one.node) for one in contents.compute_nodes} == {
        ("devstack1", "devstack1"),
        ("devstack2", "devstack2"),
        ("devstack3", "devstack3"),
    }
    assert {one.host for one in contents.services} == {"devstack1", "devstack2", "devstack3"}
    assert all(one.last_seen for one in contents.services)
    [move] = contents.migrations
    assert (move.uuid, move.instance, move.status) == (MOVE, MOVING, "finished")
    assert (move.source_host, move.target_host, move.under_way) == ("devstack1", "devstack2", True)


def test_no_cell_is_down(nova):
    assert nova.cells() == (ANSWERING_CELLS, DOWN_CELLS)
    assert nova.contents(DOWN_CELLS).rows == 0


def test_a_deleted_server_is_proven_deleted(nova):
    [gone] = nova.lookup(ANSWERING_CELLS, [GONE]).instances
    assert (gone.deleted, gone.vm_state, gone.host) == (True, "deleted", "devstack2")
    assert gone.deleted_at is not None


def test_moves_are_looked_up_by_their_instance(nova):
    assert [one.uuid for one in nova.lookup(ANSWERING_CELLS, [], [MOVING, THERE]).migrations] == [
        MOVE
    ]


def test_what_nova_never_knew_is_nowhere(nova):
    """A migration's uuid, say."""
    assert nova.lookup(ANSWERING_CELLS, [MOVE]).instances == ()
    assert nova.lookup(DOWN_CELLS, [MOVE]).instances == ()


def test_states_are_read_from_the_living(nova):
    found = nova.instance_states(ANSWERING_CELLS.uuid, [MOVING, THERE, GONE, MOVE])
    assert found[MOVING].moving
    there = found[THERE]
    assert (there.host, there.moving, there.deleted) == ("devstack3", False, False)
    assert found[GONE].deleted
    assert found.keys() == {MOVING, THERE, GONE}


def test_what_the_api_does_not_tell_is_named(nova):
    named = {one.what for one in nova.registry(nova.cells()).noted.unsupported}
    assert {"build requests", "second rows of an instance in another cell"} <= named


def lists(recorded: answers.Answers, chosen: str, *names: str) -> answers.Answers:
    """What Nova's lists are by a filter: alive, soft-deleted and deleted."""
    rows = [row for row in recorded[f"{FIRST} 2.98"][1]["servers"] if row["name"] in names]
    deleted = f"{FIRST}&deleted=True"
    gone = recorded[f"{deleted}&uuid={GONE}&limit=1000 2.98"][1]["servers"]
    return recorded | {
        f"{FIRST}{chosen}&limit=1000 2.98": (200, {"servers": rows}),
        f"{deleted}&status=SOFT_DELETED{chosen}&limit=1000 2.98": (200, {"servers": []}),
        f"{deleted}{chosen}&limit=1000 2.98": (200, {"servers": gone}),
    }


def test_nova_itself_narrows_what_is_found(recorded):
    with answers.replayed(lists(recorded, "&host=devstack3", "plain3")) as adapter:
        nova = NovaApi(adapter)
        assert nova.cells()
        found = nova.instance_ids(ANSWERING_CELLS, InstanceFilter(hosts=frozenset({"devstack3"})))
        assert (list(found.living), found.deleted) == ([THERE], frozenset())
        assert nova.instance_ids(DOWN_CELLS, InstanceFilter()).living == frozenset()
        assert not nova.instance_ids(ANSWERING_CELLS, InstanceFilter(hosts=frozenset())).living


def test_of_a_project_deleted_servers_are_found_and_not_asked_for_again(recorded):
    narrowing = InstanceFilter(projects=frozenset({"a b"}), deleted=True)
    with answers.replayed(lists(recorded, "&project_id=a%20b", "plain3")) as adapter:
        nova = NovaApi(adapter)
        found = nova.instance_ids(ANSWERING_CELLS, narrowing)
    assert (set(found.living), set(found.deleted)) == ({THERE}, {GONE})
    # Nothing answers by now, but for moves of those that are named.
    moves = {key: row for key, row in recorded.items() if "os-migrations" in key}
    none = (200, {"migrations": []})
    moves[f"GET /os-migrations?instance_uuid={GONE}&limit=1000 2.98"] = none
    with answers.replayed({"GET /": recorded["GET /"]} | moves) as adapter:
        nova._adapter = adapter
        found = nova.instances(ANSWERING_CELLS, {THERE, GONE})
    assert {one.uuid: one.deleted for one in found.instances} == {THERE: False, GONE: True}


def test_servers_that_are_named_are_read_with_their_moves(nova, recorded):
    found = nova.instances(ANSWERING_CELLS, {MOVING, THERE})
    whole = {one.uuid: one for one in nova.contents(ANSWERING_CELLS).instances}
    assert {one.uuid: one for one in found.instances} == {
        uuid: whole[uuid] for uuid in (MOVING, THERE)
    }
    assert [one.uuid for one in found.migrations] == [MOVE]
    assert nova.instances(DOWN_CELLS, {MOVING}).rows == 0


def shown(recorded: answers.Answers, uuid: str, **fields: Any) -> answers.Answers:
    """The recorded cloud, where Nova shows a server with these fields, or not at all."""
    key = f"GET /servers/{uuid} 2.98"
    if not fields:
        gone = (404, {"itemNotFound": {"code": 404, "message": "not found"}})
        deleted = f"{FIRST}&deleted=True&uuid={uuid}&limit=1000 2.98"
        return recorded | {key: gone, deleted: (200, {"servers": []})}
    status, document = recorded[key]
    return recorded | {key: (status, {"server": document["server"] | fields})}


def state_of(nova: NovaApi, uuid: str) -> InstanceState:
    return nova.instance_states(ANSWERING_CELLS.uuid, [uuid])[uuid]


def test_a_server_that_is_listed_and_not_shown_is_alive(recorded):
    """Its mapping is gone."""
    with answers.replayed(shown(recorded, THERE)) as adapter:
        [found] = NovaApi(adapter).instances(ANSWERING_CELLS, {THERE}).instances
        assert (found.uuid, found.deleted, found.host) == (THERE, False, "devstack3")
        assert state_of(NovaApi(adapter), THERE).host == "devstack3"


def test_a_server_that_is_listed_on_another_host_than_it_is_shown_has_two_rows(recorded):
    fields = {
        "OS-EXT-SRV-ATTR:host": "devstack1",
        "OS-EXT-SRV-ATTR:hypervisor_hostname": "devstack1",
    }
    with answers.replayed(shown(recorded, THERE, **fields)) as adapter:
        found = NovaApi(adapter).instances(ANSWERING_CELLS, {THERE}).instances
    assert [(one.uuid, one.host) for one in found] == [(THERE, "devstack1"), (THERE, "devstack3")]


def test_a_server_that_is_shown_as_deleted_and_listed_as_alive_has_two_rows(recorded):
    listed = recorded[f"{FIRST}&deleted=True&uuid={GONE}&limit=1000 2.98"][1]["servers"]
    deleted = f"{FIRST}&deleted=True&uuid={THERE}&limit=1000 2.98"
    rows = (200, {"servers": [listed[0] | {"id": THERE}]})
    with answers.replayed(shown(recorded, THERE) | {deleted: rows}) as adapter:
        found = NovaApi(adapter).instances(ANSWERING_CELLS, {THERE}).instances
        state = state_of(NovaApi(adapter), THERE)
    assert [(one.uuid, one.deleted) for one in found] == [(THERE, True), (THERE, False)]
    assert not state.deleted, "a plan that rests on its death is refused"


def test_a_move_is_found_by_its_own_uuid_though_nova_does_not_look_for_it(nova):
    found = nova.instances(ANSWERING_CELLS, {MOVE})
    assert (found.instances, [one.uuid for one in found.migrations]) == ((), [MOVE])


def test_a_cell_that_is_down_is_silent_and_its_servers_are_not_taken_for_gone(with_a_cell_down):
    nova = with_a_cell_down
    with pytest.raises(Unreachable) as silent:
        nova.contents(DOWN_CELLS)
    assert silent.value.source == "cells that are down"
    assert silent.value.reason == "1 servers and 1 services are UNKNOWN: devstack3"
    contents = nova.contents(ANSWERING_CELLS)
    assert THERE not in {one.uuid for one in contents.instances}
    assert {one.host for one in contents.services} == {"devstack1", "devstack2"}
    assert contents.compute_nodes == (), "Nova fails to list them while a cell is down"
    assert nova.lookup(ANSWERING_CELLS, [THERE, GONE_THERE]).instances == ()
    assert [one.uuid for one in nova.lookup(ANSWERING_CELLS, [GONE]).instances] == [GONE]


# nova.context.CELL_TIMEOUT: so long Nova waits for all cells that are down, each time it asks them.
NOVA_WAITS_SECONDS = 60


def test_nova_is_given_the_time_to_find_cells_down(with_a_cell_down, monkeypatch):
    timeouts: dict[str, float] = {}
    request = session.Session.request

    def watched(self: session.Session, url: str, method: str, **options: Any) -> Any:
        if options.get("microversion"):
            timeouts[f"{method} {url}"] = options.get("timeout", self.timeout)
        return request(self, url, method, **options)

    monkeypatch.setattr(session.Session, "request", watched)
    with pytest.raises(Unreachable):
        with_a_cell_down.contents(DOWN_CELLS)
    with_a_cell_down.contents(ANSWERING_CELLS)
    assert "GET /os-services" in timeouts
    # For a page of servers it asks the cells twice.
    assert min(timeouts.values()) > 2 * NOVA_WAITS_SECONDS


def test_several_cells_that_are_down_are_counted_together():
    down = answers.load("every-kind/api-cell-down")
    status, listed = copy.deepcopy(down["GET /os-services 2.98"])
    lost = next(row for row in listed["services"] if row["status"] == "UNKNOWN")
    listed["services"].append(lost | {"host": "devstack4"})
    more = down | {"GET /os-services 2.98": (status, listed)}
    with answers.replayed(more) as adapter, pytest.raises(Unreachable) as silent:
        NovaApi(adapter).contents(DOWN_CELLS)
    assert silent.value.reason == "1 servers and 2 services are UNKNOWN: devstack3, devstack4"


def test_a_page_full_of_others_hides_servers_but_not_services(recorded):
    """Nova puts what is down on the first page, and only where there is room."""
    down = answers.load("every-kind/api-cell-down")
    servers = [row for row in down[f"{FIRST} 2.98"][1]["servers"] if row["status"] != "UNKNOWN"]
    full = down | {f"{FIRST} 2.98": (200, {"servers": servers})}
    with answers.replayed(full) as adapter, pytest.raises(Unreachable) as silent:
        NovaApi(adapter).contents(DOWN_CELLS)
    assert silent.value.reason == "0 servers and 1 services are UNKNOWN: devstack3"


@pytest.mark.parametrize("minor", [59, 68])
def test_an_api_that_cannot_name_cells_that_are_down_is_incomplete_evidence(recorded, minor):
    with answers.replayed(older(recorded, minor)) as adapter:
        nova = NovaApi(adapter)
        assert len(nova.contents(ANSWERING_CELLS).instances) == 14
        with pytest.raises(Unreachable) as silent:
            nova.contents(DOWN_CELLS)
    assert "from 2.69 on" in silent.value.reason


def test_an_api_that_names_them_is_believed(recorded):
    with answers.replayed(older(recorded, 69)) as adapter:
        assert NovaApi(adapter).contents(DOWN_CELLS).rows == 0


def test_an_api_too_old_for_migrations_is_refused(recorded):
    with answers.replayed(older(recorded, 58)) as adapter, pytest.raises(Unreachable) as refused:
        NovaApi(adapter).cells()
    assert refused.value.reason == "it supports microversions up to 2.58, and 2.59 is needed"


def test_pages_are_followed_to_the_end(recorded, monkeypatch):
    monkeypatch.setattr(nova_api, "ROWS_IN_PAGE", 5)
    every = recorded[f"{FIRST} 2.98"][1]["servers"]
    more = {"servers_links": [{"rel": "next"}]}
    paged = {
        f"{FIRST} 2.98": (200, {"servers": every[:5]} | more),
        f"{FIRST}&limit=5&marker={every[4]['id']} 2.98": (200, {"servers": every[5:10]} | more),
        f"{FIRST}&limit=5&marker={every[9]['id']} 2.98": (200, {"servers": every[10:]}),
    }
    renamed = {key.replace("limit=1000", "limit=5"): row for key, row in recorded.items()}
    with answers.replayed(renamed | paged) as adapter:
        assert len(NovaApi(adapter).contents(ANSWERING_CELLS).instances) == 14


ROOT = {"GET /": Reply(200, {"version": {"version": "2.98"}})}


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(401, {"unauthorized": {"message": "no"}}), AccessDenied),
        (Reply(403, {"forbidden": {"message": "no"}}), AccessDenied),
        (Reply(500, "oh"), Unreachable),
        (Reply(200, {"servers": [{"id": "of somebody who is no administrator"}]}), Unreachable),
        (Reply(200, {}), Unreachable),
    ],
)
def test_a_nova_that_is_no_good_or_hides_from_us(reply, error):
    none = Reply(200, {"servers": [], "services": []})
    paths = (f"{FIRST}&limit=1000&marker=of somebody who is no administrator", "GET /os-services")
    replies = ROOT | dict.fromkeys(paths, none) | {FIRST: reply}
    with answering(replies) as url, pytest.raises(error):
        NovaApi(adapter_of(url)).contents(ANSWERING_CELLS)


def test_the_ports_of_a_server_are_known_by_their_addresses(recorded):
    """One without any is left out, and so is one that is gone."""
    changed = copy.deepcopy(recorded)
    port = {"addr": "10.0.0.7", "version": 4, "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:41:2b:a7"}
    [key] = [one for one in changed if one.startswith(f"GET /servers/{MOVING}")]
    changed[key][1]["server"]["addresses"] = {"net": [port, port | {"addr": "fd00::7"}]}
    with answers.replayed(changed) as adapter:
        nova = NovaApi(adapter)
        found = nova.cached_ports(ANSWERING_CELLS, [MOVING, THERE, GONE])
        assert found == {MOVING: ("fa:16:3e:41:2b:a7",)}
        assert nova.cached_ports(DOWN_CELLS, [MOVING]) == {}


def test_server_groups_are_read_page_by_page(recorded, monkeypatch):
    """Before 2.64 a group has a list of policies, and no rules."""
    monkeypatch.setattr(nova_api, "ROWS_IN_PAGE", 1)
    new = {"id": "g1", "policy": "anti-affinity", "rules": {"max_server_per_host": 3}}
    old = {"id": "g2", "policies": ["affinity"]}
    pages = [[new | {"members": [MOVING]}], [old | {"members": []}], []]
    path = "GET /os-server-groups?all_projects=True&limit=1&offset={} 2.98"
    replies = {
        path.format(offset): (200, {"server_groups": rows}) for offset, rows in enumerate(pages)
    }
    with answers.replayed({**recorded, **replies}) as adapter:
        assert NovaApi(adapter).server_groups() == (
            ServerGroup("g1", "anti-affinity", frozenset({MOVING}), 3),
            ServerGroup("g2", "affinity", frozenset()),
        )
