# SPDX-License-Identifier: Apache-2.0
"""The middleware around the API: keystone, CORS, request log, proxy headers, healthcheck."""

import json
import logging
import os
import platform
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from werkzeug.test import Client, TestResponse

from tests.deployment import keystone
from trueup.placement import app, config
from trueup.placement.store import schema

NOAUTH = {"api": {"auth_strategy": "noauth2"}}
VERSION = {"HTTP_OPENSTACK_API_VERSION": "placement 1.39", "REMOTE_ADDR": "127.0.0.1"}
PROVIDERS = "/resource_providers"


@pytest.fixture
def make(fresh_database, tmp_path) -> Iterator[Callable[..., app.PlacementApplication]]:
    made = []

    def make_application(settings: Any) -> app.PlacementApplication:
        url = fresh_database("sqlite")
        schema.create(url)
        written = settings | {"placement_database": {"connection": url}}
        file = tmp_path / "placement.conf"
        file.write_text("".join(map(section, written.items())))
        source = config.load([f"--config-file={file}"], {})
        made.append(app.make_service(config.read(source)))
        return made[-1]

    yield make_application
    for application in made:
        application.close()


def section(group: tuple[str, dict[str, Any]]) -> str:
    lines = (
        f"{name} = {','.join(value) if isinstance(value, list) else value}\n"
        for name, value in group[1].items()
    )
    return f"[{group[0]}]\n{''.join(lines)}"


def ask(application: Any, path: str, token: str | None = None, **environ: str) -> TestResponse:
    headers = {} if token is None else {"X-Auth-Token": token}
    return Client(application).get(path, headers=headers, environ_overrides=VERSION | environ)


def header(answer: TestResponse, name: str) -> str | None:
    return answer.headers.get(name)


@pytest.mark.parametrize("path", ["/", ""])
@pytest.mark.parametrize("settings", [keystone.settings("http://127.0.0.1:1"), NOAUTH])
def test_the_root_is_for_everyone(make, path, settings):
    answer = ask(make(settings), path)
    assert answer.status_code == 200
    assert json.loads(answer.data)["versions"][0]["max_version"] == "1.39"


def test_the_root_url_does_not_use_the_database(make, fresh_database):
    application = app.make_app(f"{fresh_database('sqlite')}/no/such/folder", NOAUTH)
    assert ask(application, "/").status_code == 200
    assert ask(application, PROVIDERS, "admin").status_code == 503


def test_keystone_identifies_the_caller(make):
    with keystone.keystone() as url:
        application = make(keystone.settings(url))
        assert ask(application, PROVIDERS, "operator").status_code == 200
        assert ask(application, PROVIDERS, "nova").status_code == 200
        assert ask(application, PROVIDERS, "reader").status_code == 403
        refused = ask(application, PROVIDERS, "forged")
        assert ask(application, PROVIDERS).status_code == 401
        # The client's own identity headers are ignored.
        forged = {"HTTP_X_USER_ID": "admin", "HTTP_X_ROLES": "admin"}
        assert ask(application, PROVIDERS, **forged).status_code == 401
    assert refused.status_code == 401
    assert header(refused, "www-authenticate") == f'Keystone uri="{url}"'


def test_keystone_can_be_given_without_a_file(fresh_database):
    url = fresh_database("sqlite")
    schema.create(url)
    with (
        keystone.keystone() as identity,
        closing(app.make_app(url, keystone.settings(identity))) as application,
    ):
        assert ask(application, PROVIDERS, "operator").status_code == 200
        assert ask(application, PROVIDERS, "reader").status_code == 403
        assert ask(application, PROVIDERS, "forged").status_code == 401


def test_an_embedded_service_takes_everyone_for_its_administrator(fresh_database):
    url = fresh_database("sqlite")
    schema.create(url)
    settings = config.from_mapping({"placement_database": {"connection": url}})
    application = app.make_embedded_service(settings)
    assert ask(application, PROVIDERS).status_code == 200
    assert ask(application, PROVIDERS, HTTP_X_ROLES="reader").status_code == 200
    application.close()


def test_a_policy_file_is_honoured(make, tmp_path: Path):
    policies = tmp_path / "policy.yaml"
    policies.write_text('"placement:resource_providers:list": "role:auditor"\n')
    application = make(NOAUTH | {"oslo_policy": {"policy_file": str(policies)}})
    assert ask(application, PROVIDERS, "admin").status_code == 403
    assert ask(application, PROVIDERS, "somebody", HTTP_X_ROLES="auditor").status_code == 200


def test_a_policy_file_that_is_broken_later_changes_nothing(make, tmp_path, monkeypatch, caplog):
    policies = tmp_path / "policy.yaml"
    policies.write_text('"placement:resource_providers:list": "role:auditor"\n')
    application = make(NOAUTH | {"oslo_policy": {"policy_file": str(policies)}})
    monkeypatch.setattr("trueup.placement.api.access._FILES_TRUSTED_SECONDS", 0)
    assert ask(application, PROVIDERS, "somebody", HTTP_X_ROLES="auditor").status_code == 200
    policies.write_text("rules: [unclosed")
    os.utime(policies, (2e9, 2e9))
    assert ask(application, PROVIDERS, "somebody", HTTP_X_ROLES="auditor").status_code == 200
    assert ask(application, PROVIDERS, "admin").status_code == 403
    assert str(policies) in caplog.text


def test_health_shows_nothing_of_the_process(make):
    wanted = {"backends": ["placement_database"], "detailed": True}
    application = make(NOAUTH | {"healthcheck": wanted})
    for accepted in ("application/json", "text/html", "text/plain"):
        answer = ask(application, app.HEALTHCHECK, HTTP_ACCEPT=accepted)
        assert answer.status_code == 200
        for sign in (
            "GC",
            "Thread",
            "threads",
            "File ",
            socket.gethostname(),
            platform.python_version(),
        ):
            assert sign not in answer.text


def test_refused_tokens_are_in_the_request_log(make, caplog):
    with keystone.keystone() as url, caplog.at_level(logging.INFO, "placement.requestlog"):
        answer = ask(make(keystone.settings(url)), PROVIDERS, "forged")
    [line] = [record for record in caplog.records if record.name == "placement.requestlog"]
    assert line.getMessage().startswith('127.0.0.1 "GET /resource_providers" status: 401 len: ')
    assert (header(answer, "x-openstack-request-id") or "").startswith("req-")


def test_browsers_of_allowed_origins_may_ask(make):
    application = make(NOAUTH | {"cors": {"allowed_origin": ["https://horizon.example"]}})
    answer = ask(application, "/", HTTP_ORIGIN="https://horizon.example")
    assert header(answer, "access-control-allow-origin") == "https://horizon.example"
    assert "OpenStack-API-Version" in (header(answer, "access-control-expose-headers") or "")
    elsewhere = ask(application, "/", HTTP_ORIGIN="https://elsewhere.example")
    assert header(elsewhere, "access-control-allow-origin") is None
    unasked = ask(make(NOAUTH), "/", HTTP_ORIGIN="https://horizon.example")
    assert header(unasked, "access-control-allow-origin") is None


@pytest.mark.parametrize(("enabled", "shown"), [(True, "/somewhere"), (False, "")])
def test_proxy_headers_are_believed_when_enabled(make, enabled, shown, caplog):
    settings = NOAUTH | {"oslo_middleware": {"enable_proxy_headers_parsing": enabled}}
    with caplog.at_level(logging.INFO, "placement.requestlog"):
        ask(make(settings), "/", HTTP_X_FORWARDED_PREFIX="/somewhere")
    assert f'"GET {shown}/" status: 200' in caplog.messages[-1]


def test_the_healthcheck_is_off_by_default(make):
    assert ask(make(NOAUTH), app.HEALTHCHECK, "admin").status_code == 404


def test_the_healthcheck_is_for_everyone_under_keystone_too(make):
    with keystone.keystone() as url:
        wanted = {"healthcheck": {"backends": ["placement_database"]}}
        application = make(keystone.settings(url) | wanted)
        assert ask(application, app.HEALTHCHECK).status_code == 200
        assert ask(application, PROVIDERS).status_code == 401


def test_a_database_without_tables_is_refused_at_the_start(fresh_database):
    with pytest.raises(sqlalchemy.exc.OperationalError, match="no such table"):
        app.make_app(fresh_database("sqlite"), NOAUTH)


def test_the_schema_is_made_at_the_start_if_so_configured(fresh_database):
    settings = NOAUTH | {"placement_database": {"sync_on_startup": True}}
    application = app.make_app(fresh_database("sqlite"), settings)
    assert ask(application, PROVIDERS, "admin").status_code == 200
    application.close()


def test_a_database_is_needed():
    with pytest.raises(config.ConfigurationUnusable, match="no database is named"):
        app.make_service(config.from_mapping(NOAUTH))
