# SPDX-License-Identifier: Apache-2.0
"""The options of keystonemiddleware; tokens themselves are in test_app.py."""

import socket

import pytest
from oslo_config import cfg

from tests.placement.client import Client
from trueup.placement import config
from trueup.placement.app import make_app
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


def test_a_keystone_that_accepts_and_is_silent_is_given_up(fresh_database, monkeypatch):
    monkeypatch.setattr(keystone, "ANSWER_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        auth_url = f"http://127.0.0.1:{dumb.getsockname()[1]}"
        service = {"auth_type": "password", "auth_url": auth_url, "http_request_max_retries": 0}
        account = {"username": "placement", "password": "secret", "project_name": "service"}
        domains = {"user_domain_id": "default", "project_domain_id": "default"}
        application = make_app(
            fresh_database("sqlite"),
            {
                "placement_database": {"sync_on_startup": True},
                keystone.GROUP: {**service, **account, **domains},
            },
        )
        client = Client(application, headers={"x-auth-token": "a-token"})
        assert client.get("/resource_providers").status == 503
        application.close()
