# SPDX-License-Identifier: Apache-2.0
import re
from collections.abc import Callable

import pytest
from sqlalchemy import insert

from tests.deployment.sites import SIGNS_OF_SQL
from tests.fuzz.bodies import SOUND
from tests.placement.client import UUID, Client
from trueup.placement.api.routes import ROUTES, Route
from trueup.placement.store.tables import inventories, metadata, providers

JSON = "application/json"


def test_every_answer_names_its_microversion(client: Client) -> None:
    reply = client.get("/resource_providers", version="1.10")
    assert reply.headers["openstack-api-version"] == "placement 1.10"
    assert "openstack-api-version" in reply.headers["vary"]
    assert client.get("/nowhere").headers["openstack-api-version"] == "placement 1.39"


@pytest.mark.parametrize("method", ["PATCH", "OPTIONS", "HEAD", "BREW"])
def test_other_methods_are_not_allowed(client: Client, method: str) -> None:
    reply = client.send(method, "/resource_providers")
    assert reply.status == 405
    assert reply.headers["allow"] == "GET, POST"


def test_slashes_count(client: Client) -> None:
    assert client.get("/resource_providers/").status == 404
    assert client.get("").status == 200


def test_one_line_break_at_the_end_is_not_of_the_url(client: Client) -> None:
    """As in upstream's patterns."""
    path = f"/resource_providers/{client.make_provider(1, inventories={'VCPU': 8})}"
    assert client.get("/\n").status == 200
    assert client.delete(f"{path}/aggregates\n").status == 405
    for url in ("", "/inventories", "/inventories/VCPU"):
        assert client.get(f"{path}{url}\n").text == client.get(f"{path}{url}").text
    assert client.get(f"{path}\n\n").status == 404
    assert client.get("/resource_providers\n\n").status == 404
    assert client.get("/traits/\n").status == 404
    assert client.put("/traits/\n").status == 400
    assert client.delete(f"{path}\n").status == 204


@pytest.mark.parametrize("kind", ["traits", "resource_classes"])
def test_no_name_ends_with_a_line_break(client: Client, kind: str) -> None:
    """It would be in the Location header of the trait or the class."""
    made = client.put(f"/{kind}/CUSTOM_NO\n")
    assert (made.status, made.headers["location"][-10:]) == (201, "/CUSTOM_NO")
    assert client.put(f"/{kind}/CUSTOM_NO").status == 204
    assert client.put(f"/{kind}/CUSTOM_NO\n\n").status == 400
    assert client.delete(f"/{kind}/CUSTOM_NO\n").status == 204


def test_no_header_has_a_line_break(client: Client) -> None:
    named = {"name": "CUSTOM_Z\n"}
    assert client.post("/resource_classes", named).status == 400
    client.put("/resource_classes/CUSTOM_Z")
    assert client.put("/resource_classes/CUSTOM_Z", named, version="1.6").status == 400
    # Upstream stores such a class before it fails.
    with client.application.database.transaction() as tx:
        tx.exec_driver_sql("UPDATE resource_classes SET name = name || char(10) WHERE id > 9999")
    path = f"/resource_providers/{client.make_provider(1)}/inventories"
    added = client.post(path, {"resource_class": "CUSTOM_Z\n", "total": 8})
    assert (added.status, added.headers["location"][-11:]) == (201, "CUSTOM_Z%0A")
    assert client.get(f"{path}/CUSTOM_Z\n\n").status == 200


def test_the_version_decides_before_the_media_type(client: Client) -> None:
    plain = {"content-type": "text/plain"}
    assert client.post("/reshaper", b"x", version="1.29", headers=plain).status == 404
    assert client.post("/reshaper", b"x", version="1.30", headers=plain).status == 415


def test_aggregates_look_at_the_media_type_first(client: Client) -> None:
    path, plain = f"/resource_providers/{UUID(1)}/aggregates", {"content-type": "text/plain"}
    assert client.put(path, b"x", version="1.0", headers=plain).status == 415
    assert client.get(path, version="1.0", headers={"accept": "text/plain"}).status == 406


def test_errors_come_in_the_type_that_is_preferred(client: Client) -> None:
    def error_type(accept: str) -> str:
        return client.get("/nowhere", headers={"accept": accept}).headers["content-type"]

    assert error_type(JSON) == JSON
    assert error_type("*/*") == JSON
    assert error_type("text/html,*/*;q=0.8") == "text/html; charset=UTF-8"
    assert error_type("image/png") == "text/plain; charset=UTF-8"


def test_refusals_repeat_the_headers_as_upstream_does(client: Client) -> None:
    def detail(**headers: str) -> str:
        reply = client.post("/resource_providers", b"x", headers=headers)
        return reply.error["detail"].replace("\n", " ")

    form = "multipart/form-data; boundary=x"
    assert f"media type {form} is not supported" in detail(**{"content-type": form})
    assert "media type None;x is not supported" in detail(**{"content-type": ";x"})
    for accept in ("", "*/*"):
        unknown = {"accept": accept, "openstack-api-version": "placement 1.99"}
        reply = client.get("/", version=None, headers=unknown)
        assert f"browser (content of type {JSON}. " in reply.error["detail"]


@pytest.mark.parametrize(("host", "origin"), [("", "placement.example"), ("h:8778", "h:8778")])
def test_a_location_has_the_servers_own_name_where_the_client_says_none(
    client: Client, host: str, origin: str
) -> None:
    made = client.put("/traits/CUSTOM_A", headers={"host": host})
    assert made.headers["location"] == f"http://{origin}/traits/CUSTOM_A"


def test_content_needs_a_type_and_a_length_that_is_a_number(client: Client) -> None:
    untyped = client.post("/resource_providers", b"{}", headers={"content-type": ""})
    assert untyped.status == 400
    assert "content-type header required" in untyped.text


def test_defects_answer_500_and_are_logged(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with client.application.database.transaction() as tx:
        tx.exec_driver_sql("DROP TABLE inventories")
    client.post("/resource_providers", {"name": "host", "uuid": UUID(1)})
    reply = client.get(f"/resource_providers/{UUID(1)}/inventories")
    assert reply.status == 500
    assert reply.error["title"] == "Internal Server Error"
    assert "no such table" in caplog.text


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.url}")
def test_no_answer_shows_sql(client: Client, route: Route) -> None:
    """Every table that a statement can need is gone."""
    with client.application.database.engine.begin() as connection:
        for table in sorted(metadata.tables):
            connection.exec_driver_sql(f"ALTER TABLE {table} RENAME TO hidden_{table}")
    path = re.sub(r"\{\w+\}", UUID(1), route.url)
    body = SOUND.get(route.handler.__name__)
    reply = client.send(route.method, path, body, version=f"1.{int(route.until)}")
    assert not [sign for sign in SIGNS_OF_SQL if sign in reply.text], reply.text


NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000, "-" + "9" * 5000]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_that_no_database_has_are_refused(client: Client, number: str) -> None:
    uuid = client.make_provider(1)
    for field in ("allocation_ratio", "total", "reserved"):
        body = f'{{"resource_provider_generation": 0, "total": 1, "{field}": {number}}}'
        path = f"/resource_providers/{uuid}/inventories/VCPU"
        assert client.put(path, body.encode()).status == 400


def test_numbers_of_a_query_may_be_long(client: Client) -> None:
    digits = "9" * 5000
    path = "/allocation_candidates?resources=VCPU:"
    assert client.get(f"{path}1&limit={digits}").status == 400
    assert client.get(f"{path}{digits}").status == 400
    assert client.get("/resource_providers", version=f"1.{digits}").status == 400


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_have_a_limit(
    serve: Callable[..., Client], empty_ledger: str, chunked: bool
) -> None:
    client = serve(empty_ledger, trueup={"max_request_body_size": 100})
    body = {"name": "x" * 60, "uuid": UUID(1)}
    assert client.post("/resource_providers", {**body, "name": "x"}).status == 200
    reply = client.post("/resource_providers", {**body, "name": "x" * 100}, chunked=chunked)
    assert reply.status == 413
    assert "at most 100 bytes" in reply.error["detail"]


def test_locations_are_absolute(client: Client) -> None:
    reply = client.post("/resource_providers", {"name": "host", "uuid": UUID(1)})
    expected = f"http://placement.example/resource_providers/{UUID(1)}"
    assert reply.headers["location"] == expected


def test_a_character_that_the_tables_lack_is_bad_input(
    serve: Callable[..., Client], ledger_url: str
) -> None:
    """Upstream's tables on MySQL hold characters of up to three bytes."""
    client = serve(ledger_url)
    rocket = "\U0001f680"
    replies = [
        client.get("/usages?project_id=%F0%9F%9A%80"),
        client.get("/resource_providers?name=%F0%9F%9A%80"),
        client.get("/traits?name=startswith:%F0%9F%9A%80"),
        client.post("/resource_providers", {"name": rocket}),
        # A list of two, and one of more.
        client.get("/traits?name=in:%F0%9F%9A%80,CUSTOM_FAST"),
        client.get("/traits?name=in:%F0%9F%9A%80,CUSTOM_FAST,CUSTOM_SLOW"),
    ]
    if ledger_url.startswith("mysql"):
        assert [reply.status for reply in replies] == [400] * 6
        assert all("character" in reply.text for reply in replies)
    else:
        assert [reply.status for reply in replies] == [200] * 6
    client.make_provider(1)
    traits = {"resource_provider_generation": 0, "traits": ["\u20ac", rocket]}
    assert client.put(f"/resource_providers/{UUID(1)}/traits", traits).status == 400
    assert client.get("/resource_providers?required=in:%F0%9F%9A%80,CUSTOM_FAST").status == 400
    assert client.post("/resource_providers", {"name": "\u20ac"}).status == 200


def test_a_text_with_a_nul_is_bad_input(serve: Callable[..., Client], ledger_url: str) -> None:
    """PostgreSQL cannot store it. No class and no trait has one, so there it is unknown."""
    client = serve(ledger_url)
    path = f"/resource_providers/{client.make_provider(1, inventories={'VCPU': 8})}"
    inventory = f"{path}/inventories/a\0b"
    unknown = [
        client.send(method, f"/{kind}/a\0b")
        for method in ("GET", "DELETE")
        for kind in ("traits", "resource_classes")
    ]
    unknown += [client.get(inventory), client.delete(inventory)]
    unknown += [client.put(inventory, {"resource_provider_generation": 1, "total": 1})]
    assert [reply.status for reply in unknown] == [404] * 7
    queries = ("required=a%00b", "required=in:a%00b,HW_CPU_X86_AVX", "resources=a%00b:1")
    for query in queries:
        assert client.get(f"/resource_providers?{query}").status == 400
    refused = [
        client.get("/resource_providers?name=a%00b"),
        client.get("/resource_providers/a\0b"),
        client.post("/resource_providers", {"name": "a\0b"}),
        client.get("/usages?project_id=a%00b"),
    ]
    if ledger_url.startswith("postgresql"):
        assert [reply.status for reply in refused] == [400] * 4
    else:
        assert [reply.status for reply in refused] == [200, 404, 200, 200]


def test_a_large_answer_is_whole(client: Client) -> None:
    """It is sent in blocks, and its length is known before."""
    hosts = range(1, 8001)
    names = [f"host {number}" for number in hosts]
    one_unit = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1}
    with client.application.database.transaction() as tx:
        tx.execute(
            insert(providers).values(generation=0),
            [
                {"id": number, "root_provider_id": number, "uuid": UUID(number), "name": name}
                for number, name in zip(hosts, names, strict=True)
            ],
        )
        tx.execute(
            insert(inventories).values(resource_class_id=0, allocation_ratio=1.0, **one_unit),
            [{"resource_provider_id": number} for number in hosts],
        )
    listed = client.get("/resource_providers")
    found = client.get("/allocation_candidates?resources=VCPU:1")
    for large in (listed, found):
        assert int(large.headers["content-length"]) == len(large.text) > 2**21
    assert [provider["name"] for provider in listed.json["resource_providers"]] == names
    uuids = set(map(UUID, hosts))
    requests = found.json["allocation_requests"]
    assert len(requests) == 8000
    assert {uuid for candidate in requests for uuid in candidate["allocations"]} == uuids
    assert found.json["provider_summaries"].keys() == uuids
