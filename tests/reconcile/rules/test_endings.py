# SPDX-License-Identifier: Apache-2.0
"""Every vm state, kind and status of a move: the verdict is that of the table, and so is the page.

TRUEUP_REWRITE_ENDINGS=1 writes the table of `docs/expected.md` anew.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from nova.compute import vm_states
from nova.objects.fields import MigrationType

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.facts import FINAL_MIGRATION_STATUSES
from trueup.reconcile.rules.claims import Moving, NotCertain, OnHost, claim_of
from trueup.reconcile.rules.endings import ENDINGS, EndOfMove, endings_of

PAGE = Path(__file__).parents[3] / "docs/expected.md"
BEGIN, END = "<!-- table of endings -->\n", "<!-- end of the table -->\n"
STATES = sorted(
    {one for name, one in vars(vm_states).items() if name.isupper() and isinstance(one, str)}
)
# What is so of an instance in these states, whatever its moves say.
BY_STATE = {
    "building": (Moving,),
    "deleted": (Moving,),
    "resized": (NotCertain,),
    "shelved_offloaded": (NotCertain,),
}
CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8 up
  host h2 VCPU=8 MEMORY_MB=8 up
  server web on {0} state={1} VCPU=1 MEMORY_MB=1
  {2} of web from h1 to h2 {3}
holds web h1 VCPU=1 MEMORY_MB=1
holds web h2 VCPU=1 MEMORY_MB=1
"""


def all_moves() -> Iterator[tuple[str, str]]:
    for kind in MigrationType.ALL:
        for status in sorted(FINAL_MIGRATION_STATUSES):
            yield kind, status


@pytest.mark.parametrize(("kind", "status"), list(all_moves()))
@pytest.mark.parametrize("state", STATES)
def test_the_verdict_is_that_of_the_table(state, kind, status):
    """Of a server that holds both hosts of a move."""
    for host in ("h1", "h2"):
        facts = facts_of(CLOUD.format(host, state, kind, status))
        claim = claim_of(uuid_of("web"), facts)
        ending = endings_of(kind, status).of(state == "error", on_target=host == "h2")
        expected = BY_STATE.get(state) or ((OnHost,) if ending.certain else (NotCertain,))
        assert isinstance(claim, expected), f"on {host}: {claim}"


def test_every_status_that_nova_sets_has_a_line():
    assert {kind for kind, _ in ENDINGS} == set(MigrationType.ALL)
    assert {status for _, status in ENDINGS} == FINAL_MIGRATION_STATUSES


def test_the_page_has_the_table():
    """Docs say what the code does."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    written = before + BEGIN + "\n" + table() + "\n" + END + after
    if os.environ.get("TRUEUP_REWRITE_ENDINGS"):
        PAGE.write_text(written)
    assert text == written or os.environ.get("TRUEUP_REWRITE_ENDINGS")


def table() -> str:
    lines = [
        "| move | status | Nova has it on | certain | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for (kind, status), row in ENDINGS.items():
        cells = [("the source", row.on_source), ("the target", row.on_target)]
        if row.given_up is not row.on_source:
            cells[0] = ("the source, state kept", row.on_source)
            cells.insert(1, ("the source, given up", row.given_up))
        lines += [f"| {kind} | {status} | {where} | {_cells(one)} |" for where, one in cells]
    return "\n".join(lines) + "\n"


def _cells(one: EndOfMove) -> str:
    return f"{'yes' if one.certain else '**no**'} | {one.why}"
