# SPDX-License-Identifier: Apache-2.0
"""Traces by osprofiler, collected in this process."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from osprofiler import notifier, opts, profiler, web
from osprofiler.drivers.base import Driver

from tests.placement.client import Client
from trueup.placement.options import OPTIONS

KEY = "a-key"
TRACED: list[dict[str, Any]] = []


class Collector(Driver):
    """osprofiler finds its drivers by their base class."""

    @classmethod
    def get_name(cls) -> str:
        return "collected"

    def notify(self, point: dict[str, Any], **_more: Any) -> None:
        TRACED.append({**point, "sender": (self.project, self.service)})


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """osprofiler keeps its state in its modules."""
    TRACED.clear()
    yield
    profiler.clean()
    notifier.set(lambda _point: None)


def tracing(serve: Callable[..., Client], url: str, **options: Any) -> Client:
    group = {"enabled": True, "hmac_keys": KEY, "connection_string": "collected://", **options}
    return serve(url, profiler=group)


def headers(key: str) -> dict[str, str]:
    """Those of a service that traces, and sends a request with this key."""
    profiler.init(key)
    found = web.get_trace_id_headers()
    profiler.clean()
    return {"x-auth-token": "admin", **found}


def names() -> list[str]:
    return [point["name"] for point in TRACED]


def test_a_signed_request_is_traced_with_its_url(serve, empty_ledger):
    client = tracing(serve, empty_ledger)
    reply = client.get("/resource_providers?name=a", headers=headers(KEY))
    assert (reply.status, reply.json) == (200, {"resource_providers": []})
    assert names() == ["wsgi-start", "wsgi-stop"]
    began = TRACED[0]
    assert began["info"]["request"]["path"] == "/resource_providers"
    assert began["sender"] == ("placement", "placement")


def test_with_trace_sqlalchemy_it_has_the_statements(serve, empty_ledger):
    client = tracing(serve, empty_ledger, trace_sqlalchemy=True)
    TRACED.clear()
    client.get("/resource_providers", headers=headers(KEY))
    assert names()[:2] == ["wsgi-start", "db-start"]
    assert names().count("db-start") == names().count("db-stop") > 0
    statements = [
        point["info"]["db"]["statement"] for point in TRACED if point["name"] == "db-start"
    ]
    assert any("resource_providers" in statement for statement in statements)


@pytest.mark.parametrize("key", ["another-key", ""], ids=["another key", "no headers"])
def test_other_requests_are_answered_and_not_traced(serve, empty_ledger, key):
    client = tracing(serve, empty_ledger, trace_sqlalchemy=True)
    asked = headers(key) if key else {"x-auth-token": "admin"}
    assert client.get("/resource_providers", headers=asked).status == 200
    assert TRACED == []


def test_without_enabled_nothing_is_traced(serve, empty_ledger):
    client = tracing(serve, empty_ledger, enabled=False)
    assert client.get("/resource_providers", headers=headers(KEY)).status == 200
    assert TRACED == []


LOAD = """
import sys
{hide}
from trueup.placement.app import make_app
make_app("sqlite://", {{
    "placement_database": {{"sync_on_startup": True}},
    "api": {{"auth_strategy": "noauth2"}},
    "profiler": {{"enabled": {enabled}}},
}})
print([name for name, module in sys.modules.items() if name == "osprofiler" and module])
"""


def loaded(hide: str, enabled: bool) -> subprocess.CompletedProcess[str]:
    """What a process says that makes a service."""
    script = LOAD.format(hide=hide, enabled=enabled)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )


def test_without_enabled_the_library_is_not_imported():
    assert loaded("", enabled=False).stdout == "[]\n"
    assert loaded("", enabled=True).stdout == "['osprofiler']\n"


def test_without_the_library_the_service_starts_and_says_that_nothing_is_traced():
    ran = loaded("sys.modules['osprofiler'] = None", enabled=True)
    assert ran.stdout == "[]\n"
    assert "enabled in [profiler] has no effect" in ran.stderr
    assert "pip install 'trueup[profiler]'" in ran.stderr


@pytest.mark.parametrize("group", ["profiler", "profiler_otlp"])
def test_the_options_are_those_of_osprofiler(group):
    # Up to 4.2 some groups are told as objects.
    listed = {getattr(key, "name", key): options for key, options in opts.list_opts()}
    theirs = {option.name: option for option in listed[group]}
    ours = {option.name: option for option in OPTIONS[group]}
    assert set(ours) == set(theirs)
    for name, option in ours.items():
        same = ("default", "secret", "deprecated_opts")
        assert type(option.type) is type(theirs[name].type)
        assert [getattr(option, field) for field in same] == [
            getattr(theirs[name], field) for field in same
        ]
