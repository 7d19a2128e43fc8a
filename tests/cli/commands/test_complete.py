# SPDX-License-Identifier: Apache-2.0
"""Completions and man pages are what the commands' parsers say, and a shell can use them."""

import os
import subprocess
import sys

import pytest

from tests.cli.running import ROOT, trueup
from trueup.cli.commands.complete import FILES
from trueup.cli.main import COMMANDS

# What a shell does when Tab is pressed at the end of these words.
TAB = """
source <("$0" -c 'from trueup.cli.main import main; raise SystemExit(main(["complete"]))')
COMP_WORDS=(trueup "$@") COMP_CWORD=$#
"$(complete -p trueup | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(*words: str) -> set[str]:
    ran = subprocess.run(
        ["bash", "-c", TAB, sys.executable, *words], capture_output=True, text=True, check=True
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
def test_bash_offers_commands_options_and_values(words, some):
    assert some <= offered(*words)


def test_every_command_is_offered():
    assert {name.split()[0] for name in COMMANDS} <= offered("")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What tools/command_pages.py writes now."""
    folder = tmp_path_factory.mktemp("pages")
    subprocess.run(
        [sys.executable, ROOT / "tools/command_pages.py", folder],
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    return folder


def test_the_files_of_the_repository_are_what_the_tool_writes(made):
    places = ("src/trueup/cli/completions", "docs/man", "docs/README.md", "docs/audit.schema.json")
    files = {path.relative_to(made) for path in made.rglob("*") if path.is_file()}
    every = (path for place in places for path in (ROOT / place, *(ROOT / place).rglob("*")))
    kept = [path for path in every if path.is_file()]
    assert files == {path.relative_to(ROOT) for path in kept}
    old = [str(name) for name in files if (made / name).read_text() != (ROOT / name).read_text()]
    assert not old, "run: python tools/command_pages.py"


def test_every_command_has_a_man_page(made):
    for name in COMMANDS:
        page = (made / "docs/man" / f"trueup-{name.replace(' ', '-')}.1").read_text()
        assert f".B trueup {name}".replace("-", "\\-") in page


@pytest.mark.parametrize("shell", FILES)
def test_a_completion_is_printed(shell):
    ran = trueup("complete", "--shell", shell)
    assert (ran.code, ran.err) == (0, "")
    assert "trueup" in ran.out
