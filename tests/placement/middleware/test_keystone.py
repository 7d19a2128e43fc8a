# SPDX-License-Identifier: Apache-2.0
"""The options of keystonemiddleware; tokens themselves are in test_app.py."""

import pytest
from oslo_config import cfg

from trueup.placement import config
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
