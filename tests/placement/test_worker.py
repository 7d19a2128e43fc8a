# SPDX-License-Identifier: Apache-2.0
"""The application of a worker. tests/test_wsgi.py loads it in a process of its own."""

import gc
import sys
import weakref

import pytest
from werkzeug.test import Client

from trueup.placement import worker
from trueup.placement.app import make_app
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.store import schema

NOAUTH = {"api": {"auth_strategy": "noauth2"}}
CANDIDATES = "/allocation_candidates?resources=VCPU:1"
HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def garbage() -> weakref.ref[Cycle]:
    return weakref.ref(Cycle())


@pytest.fixture
def url(fresh_database, tmp_path, monkeypatch):
    made = fresh_database("sqlite")
    schema.create(made)
    (tmp_path / "placement.conf").write_text(
        f"[placement_database]\nconnection = {made}\n[api]\nauth_strategy = noauth2\n"
    )
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    return made


def test_an_unusable_configuration_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    with pytest.raises(ConfigurationUnusable, match=r"placement\.conf"):
        worker.init_application()


def test_the_view_of_a_worker_is_left_out_of_garbage_collection(url):
    application = worker.init_application()
    gc.collect()
    gc.disable()
    try:
        before = garbage()
        assert Client(application).get(CANDIDATES, headers=HEADERS).status_code == 200
        assert gc.get_freeze_count() > 0
        # It would have stayed for as long as the process.
        assert before() is None
    finally:
        gc.unfreeze()
        gc.enable()
        application.close()


def test_many_applications_of_one_process_keep_no_garbage(url):
    for _ in range(3):
        application = make_app(url, NOAUTH)
        assert Client(application).get(CANDIDATES, headers=HEADERS).status_code == 200
        application.close()
    assert gc.get_freeze_count() == 0
    closed = weakref.ref(application)
    del application
    gc.collect()
    assert closed() is None


def test_only_a_worker_lets_its_threads_take_turns_often(url):
    before, usual = sys.getswitchinterval(), 0.005
    try:
        sys.setswitchinterval(usual)
        make_app(url, NOAUTH).close()
        assert sys.getswitchinterval() == usual
        worker.init_application().close()
        assert sys.getswitchinterval() < usual / 2
    finally:
        sys.setswitchinterval(before)
