# SPDX-License-Identifier: Apache-2.0
"""The client of Placement: what it reads and writes, and servers that are no good."""

import pytest

from tests.reconcile.sources.broken_server import VERSIONS, Reply, answering, client
from tests.servers.processes import free_port
from trueup.reconcile.facts import JUDGED_TRAITS, Holding
from trueup.reconcile.sources.errors import AccessDenied, MicroversionTooOld, Unreachable

ROOT = {"GET /": Reply(200, VERSIONS)}
PROVIDERS = "GET /resource_providers"
SHARING = "GET /resource_providers?required=MISC_SHARES_VIA_AGGREGATE"
NONE = Reply(200, {"resource_providers": []})


def provider(uuid: str) -> dict:
    known = {"uuid": uuid, "name": f"name of {uuid}", "generation": 3}
    return known | {"root_provider_uuid": uuid, "parent_provider_uuid": None}


def versions(newest: object) -> dict[str, Reply]:
    return {"GET /": Reply(200, {"versions": [{"id": "v1.0", "max_version": newest}]})}


def test_the_ledger_of_a_real_placement_is_read_whole(on_both):
    ledger = on_both.cloud.placement.ledger(lambda *_: None)
    rows = on_both.sql("placement", "SELECT uuid, name, generation FROM resource_providers")
    assert {(p.uuid, p.name, p.generation) for p in ledger.providers.values()} == {
        (row["uuid"], row["name"], row["generation"]) for row in rows
    }
    [host, *_] = ledger.providers.values()
    assert host.root == host.uuid
    assert host.inventories["VCPU"].allocation_ratio == 4.0
    assert not host.sharing
    held = sum(len(amounts) for by in ledger.consumers.values() for amounts in by.values())
    assert held == len(on_both.sql("placement", "SELECT id FROM allocations"))


def test_nested_and_sharing_providers_are_told_apart(small):
    [root, *_] = small.cloud.placement.ledger(lambda *_: None).providers
    nic, pool = "11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555"
    body = {"uuid": nic, "name": "nic", "parent_provider_uuid": root}
    assert small.call("POST", "/resource_providers", body).status_code == 200
    created = small.call("POST", "/resource_providers", {"uuid": pool, "name": "pool"}).json()
    traits = {
        "resource_provider_generation": created["generation"],
        "traits": ["MISC_SHARES_VIA_AGGREGATE"],
    }
    assert small.call("PUT", f"/resource_providers/{pool}/traits", traits).status_code == 200
    providers = small.cloud.placement.ledger(lambda *_: None).providers
    assert (providers[nic].root, providers[nic].sharing) == (root, False)
    assert (providers[pool].root, providers[pool].sharing) == (pool, True)
    assert providers[pool].inventories == {}


def test_the_generation_of_a_provider_that_is_not_there_is_none(small):
    [uuid, *_] = (
        row["uuid"] for row in small.sql("placement", "SELECT uuid FROM resource_providers")
    )
    assert small.cloud.placement.provider_generation(uuid) > 0
    assert small.cloud.placement.provider_generation("no-such-provider") is None


@pytest.mark.parametrize("gone", ["inventories", "allocations"])
def test_a_provider_that_goes_while_it_is_read_is_left_out(gone):
    """Listed, and 404 when its parts are asked for."""
    replies = ROOT | {
        PROVIDERS: Reply(200, {"resource_providers": [provider("stays"), provider("goes")]}),
        SHARING: NONE,
        **{f"{PROVIDERS}?required={trait}": NONE for trait in JUDGED_TRAITS},
    }
    for uuid in ("stays", "goes"):
        for part in ("inventories", "allocations"):
            if (uuid, part) != ("goes", gone):
                replies[f"GET /resource_providers/{uuid}/{part}"] = Reply(200, {part: {}})
    with answering(replies) as url:
        ledger = client(url).ledger(lambda *_: None)
    assert list(ledger.providers) == ["stays"]


@pytest.mark.parametrize(
    ("newest", "minor"), [("1.28", 28), ("1.38", 38), ("1.39", 38), ("1.99", 38)]
)
def test_the_newest_microversion_that_both_speak_is_chosen(newest, minor):
    with answering(versions(newest)) as url:
        assert client(url).newest_minor() == minor


@pytest.mark.parametrize("newest", ["1.0", "1.10", "1.27"])
def test_a_microversion_too_old_to_guard_a_write_is_refused(newest):
    asked = []
    with answering(versions(newest), asked) as url:
        with pytest.raises(MicroversionTooOld) as refused:
            client(url).ledger(lambda *_: None)
        with pytest.raises(MicroversionTooOld):
            client(url).lookup(0, 0, lambda *_: None)
    assert (refused.value.newest, refused.value.needed) == (newest, "1.28")
    assert {request.line for request in asked} == {"GET /"}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, "<html>It works!</html>"),
        Reply(200, ""),
        Reply(200, "{"),
        Reply(200, {}),
        Reply(200, []),
        Reply(200, 7),
        Reply(200, {"versions": []}),
        Reply(200, {"versions": [{"id": "v3.14"}]}),
        Reply(200, {"versions": [{"max_version": ""}]}),
        Reply(200, {"versions": [{"max_version": None}]}),
        Reply(200, {"versions": {"values": []}}),
        Reply(300, {"versions": {"values": [{"id": "v3.14"}]}}),
    ],
)
def test_what_is_not_placement_at_all_is_said_so(reply):
    with answering({"GET /": reply}) as url, pytest.raises(Unreachable) as silent:
        client(url).newest_minor()
    assert silent.value.source == "Placement"
    assert silent.value.reason == "its answer is not one of Placement"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, "<html>Welcome</html>"),
        Reply(200, ""),
        Reply(200, {}),
        Reply(200, []),
        Reply(200, None),
        Reply(200, {"resource_providers": None}),
        Reply(200, {"resource_providers": [{}]}),
        Reply(200, {"resource_providers": ["text"]}),
        Reply(200, {"resource_providers": [{"uuid": "p"}]}),
    ],
)
def test_answers_of_another_shape_are_not_placement_either(reply):
    replies = ROOT | {PROVIDERS: reply, SHARING: NONE}
    for part in ("inventories", "allocations"):
        replies[f"GET /resource_providers/p/{part}"] = Reply(200, {part: {}})
    with answering(replies) as url, pytest.raises(Unreachable) as silent:
        client(url).ledger(lambda *_: None)
    assert silent.value.reason == "its answer is not one of Placement"


@pytest.mark.parametrize("body", [{}, {"allocations": None}, {"allocations": {"p": {}}}, "text"])
def test_a_holding_of_another_shape_is_not_placement_either(body):
    replies = ROOT | {"GET /allocations/c": Reply(200, body)}
    with answering(replies) as url, pytest.raises(Unreachable):
        client(url).holding("c")


NO_USAGES = Reply(200, {"usages": {}, "resource_provider_generation": 1})
OWN = Reply(500, {"errors": [{"request_id": "req-1"}]}, {"x-openstack-request-id": "req-1"})
NOBODY = f"{PROVIDERS}?uuid=00000000-0000-0000-0000-000000000000"
HOLDS_NOTHING = {"GET /allocations/fine": Reply(200, {"allocations": {}})}


def test_an_error_for_one_consumer_concerns_that_one():
    replies = ROOT | HOLDS_NOTHING | {"GET /allocations/broken": OWN, NOBODY: NONE}
    with answering(replies) as url:
        read, unread = client(url).readable_holdings(["fine", "broken"])
    assert read == {"fine": Holding(None, None)}
    assert unread == {"broken": "Placement answers HTTP 500 for it"}


@pytest.mark.parametrize(
    "reply", [OWN, Reply(404, {"errors": [{"request_id": "req-1", "detail": "No such class."}]})]
)
@pytest.mark.parametrize("part", ["inventories", "allocations"])
def test_a_provider_that_placement_cannot_show_is_named_with_another_way_to_read(part, reply):
    """It is there, so that 404 for a part of it does not mean that it was deleted."""
    replies = ROOT | {
        PROVIDERS: Reply(200, {"resource_providers": [provider("p")]}),
        "GET /resource_providers/p": Reply(200, provider("p")),
        SHARING: NONE,
        "GET /resource_providers/p/inventories": Reply(200, {"inventories": {}}),
        "GET /resource_providers/p/allocations": Reply(200, {"allocations": {}}),
        "GET /resource_providers/p/usages": NO_USAGES,
        f"GET /resource_providers/p/{part}": reply,
    }
    with answering(replies) as url, pytest.raises(Unreachable) as silent:
        client(url).ledger(lambda *_: None)
    assert f"HTTP {reply.status} for /resource_providers/p/{part}" in silent.value.reason
    assert "--placement-database" in silent.value.reason


def test_what_a_consumer_holds_is_not_nothing_because_placement_cannot_show_it():
    with answering(ROOT) as url, pytest.raises(Unreachable) as silent:
        client(url).lookup(1, 9, lambda *_: None).held(["c"])
    assert "HTTP 404 for /allocations/c" in silent.value.reason


@pytest.mark.parametrize(
    "replies",
    [
        {"GET /allocations/broken": OWN, NOBODY: OWN},
        {"GET /allocations/broken": Reply(502, "<html>Bad gateway</html>"), NOBODY: NONE},
    ],
)
def test_a_placement_that_answers_nothing_right_or_a_proxy_is_silence(replies):
    with answering(ROOT | replies) as url, pytest.raises(Unreachable):
        client(url).readable_holdings(["broken"])


DETAIL = {"status": 500, "title": "Oh", "detail": "It  broke\n down."}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(500, {"errors": [DETAIL | {"code": "x"}]}), "HTTP 500: It broke down."),
        (Reply(500, {"errors": [DETAIL]}), "HTTP 500: It broke down."),  # no code: old Placement
        (Reply(500, {"errors": [{}]}), "HTTP 500: HTTP 500"),
        (Reply(500, {"errors": []}), "HTTP 500: HTTP 500"),
        (Reply(500, {"errors": None}), "HTTP 500: HTTP 500"),
        (Reply(500, []), "HTTP 500: HTTP 500"),
        (Reply(502, "<html>Bad gateway</html>"), "HTTP 502: HTTP 502"),
        (Reply(503, ""), "HTTP 503: HTTP 503"),
        (Reply(404, "gone"), "HTTP 404: HTTP 404"),
    ],
)
def test_an_error_is_told_whatever_shape_it_has(reply, reason):
    with answering(ROOT | {PROVIDERS: reply}) as url, pytest.raises(Unreachable) as silent:
        client(url).ledger(lambda *_: None)
    assert silent.value.reason == reason


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_told_apart_from_silence(status):
    reply = Reply(status, {"errors": [{"detail": "Go away."}]})
    with answering(ROOT | {PROVIDERS: reply}) as url, pytest.raises(AccessDenied) as refused:
        client(url).ledger(lambda *_: None)
    assert refused.value.source == "Placement"


@pytest.mark.parametrize("status", [200, 204, 409, 500, 503])
def test_a_write_is_sent_once_whatever_is_answered(status):
    asked = []
    with answering(ROOT | {"PUT /allocations/c": Reply(status, {})}, asked) as url:
        assert client(url).send("PUT", "/allocations/c", {}, 37).status_code == status
    assert [request.line for request in asked].count("PUT /allocations/c") == 1


def test_the_endpoint_is_told():
    with answering(ROOT) as url:
        assert client(url).endpoint() == url


def test_nobody_listens():
    with pytest.raises(Unreachable) as silent:
        client(f"http://127.0.0.1:{free_port()}").newest_minor()
    assert silent.value.source == "Placement"
