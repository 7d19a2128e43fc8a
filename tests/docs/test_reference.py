# SPDX-License-Identifier: Apache-2.0
"""Everything an operator can type or meet is in docs/, and docs/ tell of nothing else."""

import re

import pytest

from tests.cli.running import ROOT
from trueup.cli.exits import ExitCode
from trueup.cli.main import COMMANDS, Commands
from trueup.reconcile.defects import DEFECTS

PAGES = {path: path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))}
EVERYTHING = "\n".join(PAGES.values())
# What cliff gives to every command; docs/commands.md says so once, at its top.
OF_EVERY_COMMAND = {
    "--help", "--format", "--column", "--quote", "--noindent", "--max-width", "--fit-width",
    "--print-empty", "--sort-column", "--sort-ascending", "--sort-descending",
}  # fmt: skip

IN_A_SENTENCE = re.compile(r"`trueup ([a-z][^`]*)`")


def options_of(name: str) -> set[str]:
    command, _, _ = Commands("trueup").find_command([name])
    parser = command(None, None).get_parser(f"trueup {name}")
    strings = {word for action in parser._actions for word in action.option_strings}
    return {word for word in strings if word.startswith("--")} - OF_EVERY_COMMAND


def section_of(name: str) -> str:
    """What the docs say of a command: its section in commands.md or in a page of its own."""
    sections = re.split(r"^#+ ", EVERYTHING, flags=re.MULTILINE)
    return "\n".join(text for text in sections if text.startswith(f"trueup {name}"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section(name):
    assert section_of(name), f"docs have no section 'trueup {name}'"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name):
    shared = (ROOT / "docs" / "commands.md").read_text().split("## trueup")[0]
    reported = set(re.findall(r"--[a-z-]+", section_of(name) + shared))
    assert options_of(name) <= reported


def test_no_option_is_invented():
    known = set.union(*(options_of(name) for name in COMMANDS)) | OF_EVERY_COMMAND
    page = (ROOT / "docs" / "commands.md").read_text()
    assert set(re.findall(r"`(--[a-z-]+)", page)) <= known


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_command_in_a_sentence_has_an_option_of_another(path):
    for words in map(str.split, IN_A_SENTENCE.findall(PAGES[path])):
        name = next((name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS), None)
        # What follows `nova-manage` are the words of Nova's program.
        if name and name != "nova-manage":
            used = {option for option in words if option.startswith("--")}
            assert used <= options_of(name) | OF_EVERY_COMMAND, words


@pytest.mark.parametrize("code", ExitCode)
def test_every_exit_code_is_documented(code):
    assert f"| {code.value} | {code.meaning} |" in (ROOT / "docs" / "repair.md").read_text()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.NAME)
def test_every_defect_has_a_page(defect):
    page = (ROOT / "docs" / "defects" / f"{defect.NAME}.md").read_text()
    headings = re.findall(r"^## (.*)$", page, flags=re.MULTILINE)
    assert headings[:4] == ["Problem", "How it is recognized", "Solution", "Left alone"]


def test_every_defect_page_is_of_a_defect():
    names = {path.stem for path in PAGES if path.parent.name == "defects"}
    assert names == {defect.NAME for defect in DEFECTS}


def test_every_link_leads_somewhere():
    others = [
        *ROOT.glob("*.md"),
        *(ROOT / "bench").glob("*.md"),
        *(ROOT / "changelog.d").glob("*.md"),
    ]
    pages = {**PAGES, **{path: path.read_text() for path in others}}
    for path, text in pages.items():
        for target in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", text):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
