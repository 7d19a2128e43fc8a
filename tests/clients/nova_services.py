# SPDX-License-Identifier: Apache-2.0
"""The services of a functional test of Nova, as Trueup asks them: by a nova.conf, and over HTTP.

Nova's fixtures hold Neutron in a Python object and Placement behind an intercepted address.
"""

import json
import os
import sqlite3
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

import fixtures
import nova.tests.functional  # noqa: F401 - first: it refuses after eventlet
import requests
from nova.db.api import api as api_database
from nova.scheduler.client import report
from nova.tests.fixtures import CellDatabases, WarningsFixture
from nova.tests.fixtures import conf as conf_fixture
from nova.tests.fixtures import neutron as neutron_fixture
from nova.tests.functional import fixtures as placement_fixture
from wsgi_intercept import interceptor

from trueup.reconcile.sources.neutron import FIELDS

neutron_errors = neutron_fixture.neutron_client_exc
NEUTRON_URL, PLACEMENT_URL = "http://neutron.test:9696", "http://placement.test:8778"
SENT = ("content-type", "openstack-api-version", "x-openstack-request-id")
CONF = """
[api_database]
connection = {api}
[database]
connection = {api}
[placement]
auth_type = admin_token
endpoint = {placement}
endpoint_override = {placement}
token = {token}
"""
CONF_OF_NEUTRON = """
[neutron]
auth_type = admin_token
endpoint = {neutron}
endpoint_override = {neutron}
token = admin
"""


@dataclass
class Fixtures:
    """The fixtures of the test that runs: the last of each kind that was set up."""

    placement: Any = None
    neutron: Any = None
    cells: Any = None

    def forget(self) -> None:
        """Forget the fixtures of the test before."""
        self.placement = self.neutron = self.cells = None

    def watch(self, kind: type, name: str) -> None:
        """Keep each fixture of this kind when it is set up."""
        set_up = kind.setUp

        def kept(fixture: Any) -> None:
            setattr(self, name, fixture)
            set_up(fixture)

        kind.setUp = kept


CURRENT = Fixtures()


@dataclass
class NeutronApi:
    """The port API of a fixture that has only a client's methods; it counts revisions itself."""

    revisions: dict[str, tuple[str, int]] = field(default_factory=dict)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        try:
            status, answer = "200 OK", self._answer(environ)
        except neutron_errors.NeutronClientException as error:
            status = f"{error.status_code} refused"
            answer = {"NeutronError": {"type": type(error).__name__, "message": str(error)}}
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]

    def _answer(self, environ: dict[str, Any]) -> Any:
        parts = environ["PATH_INFO"].strip("/").split("/")
        if parts[1] != "ports":
            return {parts[1]: []}
        if environ["REQUEST_METHOD"] == "PUT":
            body = json.load(environ["wsgi.input"])
            revision = self._shown(parts[2])["revision_number"]
            if environ.get("HTTP_IF_MATCH") != f"revision_number={revision}":
                raise neutron_errors.NeutronClientException(status_code=412)
            CURRENT.neutron.update_port(parts[2], body)
            return {"port": self._shown(parts[2])}
        if len(parts) == 3:
            return {"port": self._shown(parts[2])}
        wanted = parse_qs(environ.get("QUERY_STRING", "")).get("device_id")
        rows = CURRENT.neutron.list_ports(is_admin=True)["ports"]
        return {
            "ports": [
                self._numbered(row) for row in rows if wanted is None or row["device_id"] in wanted
            ]
        }

    def _shown(self, uuid: str) -> dict[str, Any]:
        return self._numbered(CURRENT.neutron.show_port(uuid, is_admin=True)["port"])

    def _numbered(self, port: dict[str, Any]) -> dict[str, Any]:
        content = json.dumps(port, sort_keys=True)
        known, number = self.revisions.get(port["id"], ("", 0))
        if known != content:
            number += 1
            self.revisions[port["id"]] = (content, number)
        return {**dict.fromkeys(FIELDS), **port, "revision_number": number}


class PlacementApi:
    """The Placement of the test, which refuses to write where the test lets Nova's client fail."""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        writes = method in ("PUT", "POST") and path.startswith("/allocations")
        if writes and isinstance(report.SchedulerReportClient.put_allocations, mock.Mock):
            start_response("409 Conflict", [("Content-Type", "application/json")])
            return [b'{"errors": [{"code": "placement.undefined_code", "detail": "refused"}]}']
        length = int(environ.get("CONTENT_LENGTH") or 0)
        names = {name[5:].replace("_", "-"): value for name, value in environ.items()}
        kept = ("OPENSTACK-API-VERSION", "X-AUTH-TOKEN", "ACCEPT")
        headers = {name: names[name] for name in kept if name in names}
        try:
            answer = requests.request(
                method,
                f"{CURRENT.placement.endpoint}{path}?{environ.get('QUERY_STRING', '')}",
                headers={**headers, "Content-Type": "application/json"},
                data=environ["wsgi.input"].read(length),
            )
        except requests.ConnectionError:
            start_response("503 Stopped by the test", [])
            return []
        sent = [(name, answer.headers[name]) for name in answer.headers if name in SENT]
        start_response(f"{answer.status_code} {answer.reason}", sent)
        return [answer.content]


def written_conf(folder: Path) -> Path:
    """A nova.conf of the test's services, and of a copy of its API database."""
    copied = folder / "nova_api.sqlite"
    named = str(api_database.get_engine().url.database)
    with sqlite3.connect(named) as source, sqlite3.connect(copied) as copy:
        source.backup(copy)
        for identifier, context in CURRENT.cells._ctxt_mgrs.items():
            url = str(context.writer.get_engine().url)
            copy.execute(
                "UPDATE cell_mappings SET database_connection = ? WHERE database_connection = ?",
                (url, identifier),
            )
    source.close(), copy.close()
    conf = folder / "nova.conf"
    text = CONF if CURRENT.neutron is None else CONF + CONF_OF_NEUTRON
    conf.write_text(
        text.format(
            api=f"sqlite:///{copied}",
            placement=PLACEMENT_URL,
            token=CURRENT.placement.token,
            neutron=NEUTRON_URL,
        )
    )
    return conf


def make_ready() -> None:
    """Keep the fixtures of each test, and answer where `written_conf` says that services are."""
    CURRENT.watch(placement_fixture.PlacementFixture, "placement")
    CURRENT.watch(neutron_fixture.NeutronFixture, "neutron")
    CURRENT.watch(CellDatabases, "cells")
    # Nova's own fixture turns warnings of newer libraries into errors.
    WarningsFixture.setUp = fixtures.Fixture.setUp
    # Nova's package puts its files of configuration beside Python's own.
    conf_fixture.paths.state_path_def = lambda *parts: str(Path(sys.prefix, *parts))
    for url, application in ((NEUTRON_URL, NeutronApi()), (PLACEMENT_URL, PlacementApi())):
        interceptor.RequestsInterceptor(lambda one=application: one, url=url).install_intercept()
