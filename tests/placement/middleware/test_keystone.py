# SPDX-License-Identifier: Apache-2.0
"""The options of keystonemiddleware; tokens themselves are in test_app.py."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from oslo_config import cfg

from tests.deployment import keystone as sound_keystone
from tests.placement.client import Client
from trueup.lab.serving import serve
from trueup.placement import config
from trueup.placement.app import make_app, make_service
from trueup.placement.middleware import keystone


def test_the_options_of_the_kind_of_authentication_have_a_place():
    source = cfg.ConfigOpts()
    source([], default_config_files=[], default_config_dirs=[])
    keystone.register(source, {"auth_type": "password"})
    source.set_override("username", "placement", keystone.GROUP)
    assert source.keystone_authtoken.username == "placement"


def test_an_unknown_kind_of_authentication_is_named():
    given = {keystone.GROUP: {"auth_type": "handshake"}}
    with pytest.raises(config.ConfigurationUnusable, match="handshake"):
        config.from_mapping(given)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("auth_type = passwrod", "passwrod"),
        ("auth_type = password", "auth_url"),
        (
            "auth_type = password\nauth_url = http://127.0.0.1:1\n"
            "memcache_security_strategy = ENCRYPT",
            "memcache_secret_key must be defined",
        ),
        (
            "auth_type = password\nauth_url = http://127.0.0.1:1\nauth_version = three",
            "Invalid version specified: three",
        ),
        ("auth_section = servcie", r"needs the section \[servcie\], with auth_type"),
    ],
)
def test_unusable_credentials_in_a_file_are_refused_in_one_line(tmp_path, option, words):
    path = tmp_path / "placement.conf"
    path.write_text(
        f"[placement_database]\nconnection = sqlite://\n[keystone_authtoken]\n{option}\n"
    )
    settings = config.read(config.load([f"--config-file={path}"], {}))
    with pytest.raises(config.ConfigurationUnusable, match=words):
        make_service(settings)


def test_the_credentials_may_be_in_a_section_of_their_own(tmp_path, fresh_database):
    """As where several services of a host share them; upstream takes that too."""
    url = fresh_database("sqlite")
    with serve(sound_keystone.answer) as auth_url:
        path = tmp_path / "placement.conf"
        shared = "".join(f"{name} = {value}\n" for name, value in SERVICE.items())
        path.write_text(
            f"[placement_database]\nconnection = {url}\nsync_on_startup = true\n"
            "[keystone_authtoken]\nauth_section = shared\n"
            f"[shared]\nauth_url = {auth_url}\n{shared}"
        )
        application = make_service(config.read(config.load([f"--config-file={path}"], {})))
        client = Client(application, headers={"x-auth-token": "operator"})
        with contextlib.closing(application):
            assert client.get("/resource_providers").status == 200


SERVICE = {
    "auth_type": "password",
    "http_request_max_retries": 0,
    "username": "placement",
    "password": "secret",
    "project_name": "service",
    "user_domain_id": "default",
    "project_domain_id": "default",
}


def validated_by(auth_url: str, database_url: str) -> int:
    """The status of a request with a token that this Keystone is asked about."""
    application = make_app(
        database_url,
        {
            "placement_database": {"sync_on_startup": True},
            keystone.GROUP: {**SERVICE, "auth_url": auth_url},
        },
    )
    client = Client(application, headers={"x-auth-token": "a-token"})
    with contextlib.closing(application):
        return client.get("/resource_providers").status


def test_a_keystone_that_accepts_and_is_silent_is_given_up(fresh_database, monkeypatch):
    monkeypatch.setattr(keystone, "ANSWER_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        auth_url = f"http://127.0.0.1:{dumb.getsockname()[1]}"
        assert validated_by(auth_url, fresh_database("sqlite")) == 503


SILENT = None
"""Keystone does not answer until the test ends."""


@pytest.mark.parametrize(
    "said", [b"<html>", b"[]", b'{"token": null}', b'{"token": {"expires_at": "never"}}', SILENT]
)
def test_a_keystone_whose_answer_is_no_token_is_unavailable(said, fresh_database, monkeypatch):
    """It knows the service itself, and says this of the token of a client."""
    monkeypatch.setattr(keystone, "ANSWER_SECONDS", 1)
    is_over = threading.Event()

    def lying(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        if "HTTP_X_SUBJECT_TOKEN" not in environ:
            return sound_keystone.answer(environ, start_response)
        if said is SILENT:
            is_over.wait()
        start_response("200 OK", [("content-type", "application/json")])
        return [said or b""]

    with serve(lying) as auth_url:
        try:
            assert validated_by(auth_url, fresh_database("sqlite")) == 503
        finally:
            is_over.set()
