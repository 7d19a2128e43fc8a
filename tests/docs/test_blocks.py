# SPDX-License-Identifier: Apache-2.0
"""What a page shows to be copied can be read by the program that it is for."""

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.running import ROOT
from trueup.cli.main import COMMANDS, Trueup

PAGES = sorted((ROOT / "docs").rglob("*.md"))
FENCED = re.compile(r"^```(sh|yaml|cron|ini)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Values of five time fields of cron, the user, and the command.
CRON = re.compile(r"((?:[\d*/,-]+ ){5})(\w+) (.+)")
PROGRAMS = Path(sys.executable).parent
# A play for Ansible to read variables for.
PLAY = "- hosts: localhost\n  gather_facts: false\n  tasks: []\n"


def blocks(language: str) -> list[object]:
    """Each block of a language, named by its page."""
    return [
        pytest.param(text, id=f"{path.stem}-{number}")
        for path in PAGES
        for number, (found, text) in enumerate(FENCED.findall(path.read_text()))
        if found == language
    ]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command of ours in a shell's text."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(re.split(r" [>|] ", line)[0], comments=True)
        # In a container, the command is the end of the line.
        if words[:1] == ["trueup"] or (words[:2] == ["docker", "run"] and "trueup" in words):
            yield words[words.index("trueup") + 1 :]


def parse(words: list[str]) -> argparse.Namespace:
    """Parse a command line as the program does, without running it."""
    program = Trueup()
    _, rest = program.parser.parse_known_args(words)
    command, name, arguments = program.command_manager.find_command(rest)
    return command(program, program.parser).get_parser(f"trueup {name}").parse_args(arguments)


@pytest.mark.parametrize("text", blocks("sh"))
def test_bash_can_read_it_and_our_commands_are_right(text):
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    for words in commands(text):
        parse(words)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_it_is_yaml_with_one_mapping(text):
    assert isinstance(yaml.safe_load(text), dict)


@pytest.mark.parametrize("text", blocks("cron"))
def test_cron_can_read_it_and_our_commands_are_right(text):
    lines = [line for line in text.splitlines() if not re.match(r"[A-Z]+=", line)]
    assert lines
    for line in lines:
        _, user, command = CRON.fullmatch(line).groups()
        assert user == "trueup"
        program, *words = shlex.split(command)
        assert program == "trueup"
        parse(words)


def section(page: str, heading: str, language: str) -> str:
    """The block of a language below a heading."""
    text = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    [block] = [text for found, text in FENCED.findall(text) if found == language]
    return block


@pytest.fixture(scope="module")
def deployment() -> str:
    return (ROOT / "docs/service/deployment-tools.md").read_text()


@pytest.mark.parametrize("heading", ["The Ansible role", "Kolla-Ansible", "OpenStack-Ansible"])
def test_ansible_accepts_the_variables(deployment, heading, tmp_path):
    (tmp_path / "variables.yml").write_text(section(deployment, heading, "yaml"))
    (tmp_path / "play.yml").write_text(PLAY)
    command = [PROGRAMS / "ansible-playbook", "--syntax-check", "--inventory", "localhost,"]
    command += ["--extra-vars", "@variables.yml", "play.yml"]
    environment = {"PATH": str(PROGRAMS), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_pages_have_blocks_of_every_language():
    for language in ("sh", "yaml", "cron"):
        assert blocks(language)


def test_no_table_is_wider_than_a_terminal():
    folders = [ROOT / name for name in ("docs", "bench", "packaging")]
    pages = [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))]
    rows = [
        (page, row) for page in pages for row in page.read_text().splitlines() if row[:1] == "|"
    ]
    assert rows
    assert [(page.name, row) for page, row in rows if len(row) > 120] == []


def test_every_sentence_of_troubleshooting_is_one_of_ours():
    page = (ROOT / "docs/troubleshooting.md").read_text()
    quoted = re.findall(r"^- (`[^`]+`):", page, re.MULTILINE)
    ours = "\n".join(path.read_text() for path in (ROOT / "src/trueup/cli").rglob("*.py"))
    libraries = ("Failed to find some config files",)
    assert quoted
    for sentence in quoted:
        for part in re.split(r"'[^']*'|\[\w+\]|: ", sentence.strip("`")):
            assert part.strip() in ours or part in libraries, sentence


def test_the_page_of_permissions_names_every_command():
    page = (ROOT / "docs/security.md").read_text()
    section = page.partition("## What each command needs")[2].partition("**Databases")[0]
    assert set(re.findall(r"`([a-z -]+)`", section)) >= set(COMMANDS)
