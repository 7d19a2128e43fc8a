# SPDX-License-Identifier: Apache-2.0
"""Every command that the runbooks' tables name is run: by the page that its row links to, or a
test that is named here."""

import ast
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from tests.cli.running import ROOT
from tests.docs.test_console import commands

TABLES = ROOT / "docs/runbooks/README.md"
COMMAND = re.compile(r"`(trueup [^`]+)`(?:\]\((?P<page>[^)]+)\))?")
# What needs a cloud that no page has.
TESTS = {
    "trueup nova-manage placement heal_allocations --instance UUID --port-provider PORT=PROVIDER": (
        "tests/cli/nova_manage/test_instance_lines.py"
        "::test_a_port_that_several_providers_could_give"
    ),
    "trueup rebuild --lost --into URL --apply": (
        "tests/cli/commands/test_rebuild.py::test_a_lost_ledger_is_made_from_nova"
    ),
}
NAMED = sorted({(found[1], found["page"] or "") for found in COMMAND.finditer(TABLES.read_text())})


def runs(wanted: str, ran: str) -> bool:
    """Whether a command line is this one, with values for its words in capital letters."""
    fixed = [word for word in wanted.split() if not re.fullmatch(r"[A-Z=]+", word)]
    verb = [*takewhile(lambda word: not word.startswith("-"), fixed)]
    return ran.split()[: len(verb)] == verb and set(fixed) <= set(ran.split())


def functions(path: Path) -> Iterator[str]:
    return (
        one.name for one in ast.parse(path.read_text()).body if isinstance(one, ast.FunctionDef)
    )


@pytest.mark.parametrize(("command", "page"), NAMED, ids=lambda one: one)
def test_a_command_of_the_tables_is_run(command: str, page: str) -> None:
    if test := TESTS.get(command):
        path, _, function = test.partition("::")
        assert function in functions(ROOT / path)
        return
    pages = [TABLES.parent / page] if page else sorted((ROOT / "docs").rglob("*.md"))
    ran = [line for one in pages for line, _ in commands(one.read_text())]
    assert any(runs(command, line) for line in ran), f"no console block of {page} runs it"


def test_every_test_that_is_named_here_is_of_a_command_of_the_tables() -> None:
    assert TESTS.keys() <= {command for command, _ in NAMED}
