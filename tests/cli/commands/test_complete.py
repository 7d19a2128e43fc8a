# SPDX-License-Identifier: Apache-2.0
"""Completions and man pages are what the commands' parsers say, and a shell can use them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import ROOT, trueup
from trueup.cli.commands import complete
from trueup.cli.commands.complete import FILES
from trueup.cli.main import COMMANDS

# What a shell does when Tab is pressed at the end of these words.
TAB = """
source "$0/bash/trueup"
COMP_WORDS=(trueup "$@") COMP_CWORD=$#
"$(complete -p trueup | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
"""


COMPLETIONS = "src/trueup/cli/completions"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What a wheel is built with."""
    folder = tmp_path_factory.mktemp("pages")
    subprocess.run(
        [sys.executable, ROOT / "tools/command_pages.py", folder],
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    return folder


def offered(made: Path, *words: str) -> set[str]:
    ran = subprocess.run(
        ["bash", "-c", TAB, made / COMPLETIONS, *words], capture_output=True, text=True, check=True
    )
    assert ran.stderr == ""
    return set(ran.stdout.split())


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["aud"], {"audit"}),
        (["plan", "--o"], {"--out", "--os-cloud"}),
        (["plan", "s"], {"show"}),
        (["snapshot", ""], {"save", "show"}),
        (["audit", "--severity", ""], {"critical", "high", "medium", "low"}),
        (["apply", "pypro"], {"pyproject.toml"}),
        (["audit", "--from", "pypro"], {"pyproject.toml"}),
        (["journal", "--state-dir", "sr"], {"src"}),
    ],
)
def test_bash_offers_commands_options_and_values(made, words, some):
    assert some <= offered(made, *words)


def test_every_command_is_offered(made):
    assert {name.split()[0] for name in COMMANDS} <= offered(made, "")


def test_every_command_has_a_man_page(made):
    for name in COMMANDS:
        page = (made / "build/man" / f"trueup-{name.replace(' ', '-')}.1").read_text()
        assert f".B trueup {name}".replace("-", "\\-") in page


@pytest.mark.parametrize("shell", FILES)
def test_a_completion_is_printed(shell, made, monkeypatch):
    monkeypatch.setattr(complete, "_FOLDER", made / COMPLETIONS)
    ran = trueup("complete", "--shell", shell)
    assert (ran.code, ran.err) == (0, "")
    assert "trueup" in ran.out


def test_a_source_tree_says_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr(complete, "_FOLDER", tmp_path)
    ran = trueup("complete")
    assert (ran.code, ran.out) == (2, "")
    assert "make demo" in ran.err
