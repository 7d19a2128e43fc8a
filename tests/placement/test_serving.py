# SPDX-License-Identifier: Apache-2.0
"""The choice of the service, and the application of a worker. tests/deployment serves it."""

import pickle
from pathlib import Path

import pytest
from werkzeug.test import Client

from trueup.placement import serving
from trueup.placement.store import schema


@pytest.fixture(autouse=True)
def _no_configuration_of_this_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION", raising=False)
    monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR", raising=False)


def test_without_a_configuration_the_service_is_embedded(tmp_path: Path):
    service = serving.choose((), None, tmp_path / "state")
    assert service.embedded_url == f"sqlite:///{tmp_path}/state/placement.sqlite"
    assert (tmp_path / "state").is_dir()


def test_a_database_that_is_named_is_embedded_whatever_is_configured(tmp_path, monkeypatch):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:///configured.sqlite")
    assert serving.choose((), "sqlite:///named.sqlite", tmp_path).embedded_url == (
        "sqlite:///named.sqlite"
    )
    assert serving.choose((), None, tmp_path).embedded_url is None


def test_a_worker_can_be_told_what_to_build(fresh_database):
    url = fresh_database("sqlite")
    schema.create(url)
    service = pickle.loads(pickle.dumps(serving.Service((), url)))
    application = service.build()
    assert Client(application).get("/resource_providers").status_code == 200
    application.close()


def test_a_public_address_needs_an_option():
    place = serving.ListenOptions("192.0.2.1", 1, 1, 1, insecure=False)
    with pytest.raises(serving.Unusable, match="every client that reaches"):
        serving.serve(serving.Service((), "sqlite://"), place, print)
    # Refused for the address itself, and not for being reachable.
    insecure = serving.ListenOptions("192.0.2.1", 8778, 1, 1, insecure=True)
    with pytest.raises(serving.Unusable, match="cannot listen on"):
        serving.serve(serving.Service((), "sqlite://"), insecure, print)
