# SPDX-License-Identifier: Apache-2.0
"""osc-lib's requirements of the plugin."""

import argparse
from types import SimpleNamespace

import pytest

from trueup.osc import plugin


def test_the_client_is_the_clients_own_connection() -> None:
    connection = object()
    assert plugin.make_client(SimpleNamespace(sdk_connection=connection)) is connection


def test_the_version_is_an_option_that_osc_lib_finds() -> None:
    parser = plugin.build_option_parser(argparse.ArgumentParser())
    assert getattr(parser.parse_args([]), plugin.API_VERSION_OPTION) in plugin.API_VERSIONS


def test_an_unknown_version_is_refused(capsys) -> None:
    parser = plugin.build_option_parser(argparse.ArgumentParser())
    with pytest.raises(SystemExit):
        parser.parse_args(["--os-trueup-api-version", "7"])
