# SPDX-License-Identifier: Apache-2.0
"""The application for WSGI servers is built once, when it is first called."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from werkzeug.test import Client

from trueup import wsgi
from trueup.placement.app import PlacementApplication, make_app
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.store import schema


def test_it_is_built_once_however_many_call(fresh_database):
    url = fresh_database("sqlite")
    schema.create(url)
    built: list[PlacementApplication] = []

    def build() -> PlacementApplication:
        built.append(make_app(url))
        return built[-1]

    application = wsgi.LazyApplication(build)
    assert built == []
    with ThreadPoolExecutor(4) as callers:
        answers = list(callers.map(lambda _: Client(application).get("/"), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert len(built) == 1
    built[0].close()


def test_each_request_gets_the_error_until_it_is_fixed(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    for _ in range(2):
        with pytest.raises(ConfigurationUnusable, match=r"placement\.conf"):
            Client(wsgi.application).get("/")
