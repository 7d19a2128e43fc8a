# SPDX-License-Identifier: Apache-2.0
"""A database that goes away is a 503, and the service recovers by itself when it is back."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from unittest import mock

import pytest
from sqlalchemy.engine import make_url

from tests.deployment.relay import Relay, relay_to
from tests.placement.client import UUID, Client
from tests.servers.databases import as_text
from trueup.placement.app import PlacementApplication, make_app
from trueup.placement.store import schema
from trueup.placement.store.engine import sessions

SETTINGS = {"api": {"auth_strategy": "noauth2"}, "placement_database": {"max_pool_size": 2}}


@pytest.fixture(params=["mariadb", "postgresql"])
def relayed(request, fresh_database) -> Iterator[tuple[Relay, str]]:
    """A relay, and the URL of an empty database behind it."""
    url = make_url(fresh_database(request.param))
    with relay_to(url.port or 0) as relay:
        yield relay, as_text(url.set(host="127.0.0.1", port=relay.port))


def check_away(client: Client) -> None:
    reply = client.get("/resource_providers")
    assert reply.status == 503
    assert reply.error["title"] == "Service Unavailable"
    assert int(reply.headers["retry-after"]) > 0
    assert client.post("/resource_providers", {"uuid": UUID(2), "name": "two"}).status == 503
    # Load balancers ask this; taking the service out would help nobody.
    assert client.get("/").status == 200


def served(url: str) -> tuple[PlacementApplication, Client]:
    application = make_app(url, SETTINGS)
    return application, Client(application)


def test_a_database_that_goes_and_comes_back(relayed):
    relay, url = relayed
    schema.create(url)
    application, client = served(url)
    assert client.post("/resource_providers", {"uuid": UUID(1), "name": "one"}).status == 200
    relay.cut()
    check_away(client)
    relay.mend()
    reply = client.get("/resource_providers")
    assert [one["uuid"] for one in reply.json["resource_providers"]] == [UUID(1)]
    assert client.get("/allocation_candidates?resources=VCPU:1").status == 200
    application.close()


@pytest.mark.parametrize("kind", ["mariadb", "mysqldb", "postgresql"])
def test_a_database_that_freezes_while_it_is_used(kind, fresh_database):
    """Its host accepts what is sent, so only the missing answer shows that nobody works on it."""
    url = make_url(fresh_database(kind))
    patient = {**SETTINGS, "trueup": {"lock_wait_timeout": 1}}
    with relay_to(url.port or 0) as relay, mock.patch.object(sessions, "WORK_SECONDS_MAX", 1):
        relayed_url = as_text(url.set(host="127.0.0.1", port=relay.port))
        schema.create(relayed_url)
        with closing(make_app(relayed_url, patient)) as application:
            client = Client(application)
            client.make_provider(1, inventories={"VCPU": 8})
            relay.freeze()
            check_away(client)
            relay.thaw()
            assert client.get("/resource_providers").status == 200
            assert client.claim(1, {1: {"VCPU": 1}}).status == 204


def test_a_service_that_starts_before_its_database(relayed):
    relay, url = relayed
    relay.cut()
    settings = SETTINGS | {"placement_database": {"sync_on_startup": True}}
    application = make_app(url, settings)
    client = Client(application)
    check_away(client)
    relay.mend()
    reply = client.get("/resource_classes")
    assert reply.status == 200
    assert "VCPU" in json.dumps(reply.json)
    application.close()


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        yield listener


@pytest.mark.parametrize("driver", ["mysql+pymysql", "postgresql"])
def test_a_database_that_says_nothing_at_the_first_request(driver, silent):
    url = f"{driver}://a:b@127.0.0.1:{silent.getsockname()[1]}/c"
    application, client = served(f"{url}?connect_timeout=2")
    _at_the_start, _ = silent.accept()
    stranger = Client(application, headers={})
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(check_away, client)
        _first, _ = silent.accept()
        # It is waited for, and all others are answered.
        assert stranger.get("/").status == 200
        assert stranger.get("/resource_providers").status == 401
        assert stranger.get("/allocation_candidates?resources=VCPU:1").status == 401
        asking.result()
    check_away(client)
    application.close()


def test_nobody_unknown_opens_a_connection(silent):
    url = f"mysql+pymysql://a:b@127.0.0.1:{silent.getsockname()[1]}/c?connect_timeout=2"
    application = make_app(url, SETTINGS)
    _at_the_start, _ = silent.accept()
    stranger = Client(application, headers={})
    assert stranger.get("/resource_providers").status == 401
    assert stranger.put("/traits/CUSTOM_ONE").status == 401
    assert stranger.get("/").status == 200
    silent.settimeout(0)
    with pytest.raises(BlockingIOError):
        silent.accept()
    application.close()


def test_sessions_that_the_server_ends_are_not_noticed(relayed):
    relay, url = relayed
    schema.create(url)
    application, client = served(url)
    assert client.get("/resource_providers").status == 200
    relay.cut()
    relay.mend()
    assert client.get("/resource_providers").status == 200
    application.close()
