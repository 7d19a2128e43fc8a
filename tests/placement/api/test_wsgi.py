# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.placement.client import UUID, Client

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


def test_locations_are_absolute(client: Client) -> None:
    reply = client.post("/resource_providers", {"name": "host", "uuid": UUID(1)})
    expected = f"http://placement.example/resource_providers/{UUID(1)}"
    assert reply.headers["location"] == expected
