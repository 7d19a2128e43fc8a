# SPDX-License-Identifier: Apache-2.0
"""Every option of Nova's --help is ours too, and takes a value where Nova's does."""

import argparse
import re

import pytest

from tests.cli.nova_manage.twins import Nova
from tests.cli.running import trueup
from trueup.cli.nova_manage.options import add_options

pytestmark = pytest.mark.xdist_group("nova-manage")


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser


@pytest.mark.parametrize("action", ["heal_allocations", "audit", "sync_aggregates"])
def test_every_option_of_novas(nova: Nova, parser: argparse.ArgumentParser, action: str) -> None:
    printed = nova.run(["placement", action, "--help"], []).out
    options = re.findall(r"^  (--[a-z_-]+)(?: (<\w+>))?", printed, flags=re.MULTILINE)
    assert options
    for option, value in options:
        words = ["placement", action, option, *(["1"] if value else [])]
        parser.parse_args(words)


@pytest.mark.parametrize("value", ["port", "=provider", "port="])
def test_a_port_without_its_provider_is_refused(parser, value, capsys) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(["placement", "heal_allocations", "--port-provider", value])
    assert "is not PORT=PROVIDER" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["audit", "--limit", "3"], "--limit would be ignored without --delete."),
        (["audit", "--concurrency", "4"], "--concurrency would be ignored without --delete."),
        (
            ["heal_allocations", "--dry-run", "--concurrency", "2"],
            "--concurrency would be ignored with --dry-run.",
        ),
        (
            ["heal_allocations", "--skip-port-allocations", "--port-provider", "port=provider"],
            "--port-provider would be ignored with --skip-port-allocations.",
        ),
    ],
)
def test_an_option_of_ours_that_would_be_ignored_is_refused(words, line) -> None:
    ran = trueup("nova-manage", "placement", *words)
    assert ran.code == 127
    assert line in ran.out + ran.err
