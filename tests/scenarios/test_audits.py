# SPDX-License-Identifier: Apache-2.0
"""Every file of audits/ says what an audit and a plan of its cloud must say."""

import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.scenarios.reading import answer, read_cloud
from trueup.reconcile.audit import observation
from trueup.reconcile.facts import Facts
from trueup.reconcile.verdicts import AuditOptions, Finding

FILES = sorted((Path(__file__).parent / "audits").glob("*.txt"))
LINE = "----\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_audit_and_plan_are_those_in_the_file(path: Path) -> None:
    """TRUEUP_REWRITE_SCENARIOS=1 writes the answers anew; read what changed before you keep it."""
    blocks = path.read_text().split("\n====\n")
    rewritten = []
    for block in blocks:
        cloud, _, expected = block.partition(LINE)
        found = answer(read_cloud(cloud)) + "\n"
        rewritten.append(cloud + LINE + found)
        if not os.environ.get("TRUEUP_REWRITE_SCENARIOS"):
            assert found.strip() == expected.strip(), f"{path.name}:\n{cloud}"
    if os.environ.get("TRUEUP_REWRITE_SCENARIOS"):
        path.write_text("\n====\n".join(text.rstrip("\n") + "\n" for text in rewritten))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_time_alone_changes_no_finding(path: Path) -> None:
    """Else a plan's second observation would not confirm what its first one found."""
    for block in path.read_text().split("\n====\n"):
        facts = _moved_lately(read_cloud(block.partition(LINE)[0]).facts())
        before = _findings_of(facts)
        for seconds in (20, 60, 300, 4000):
            after = _findings_of(_later(facts, facts.taken_at + timedelta(seconds=seconds)))
            changed = [row for name, row in after.items() if before.get(name, row) != row]
            assert changed == [], block


def _findings_of(facts: Facts) -> dict[str, Finding]:
    return {row.id: row for row in observation(facts, AuditOptions()).audit.findings}


def _moved_lately(facts: Facts) -> Facts:
    """Each move ended 50 seconds ago, if it ended."""
    lately = facts.taken_at - timedelta(seconds=50)
    return replace(facts, migrations=[replace(row, updated_at=lately) for row in facts.migrations])


def _later(facts: Facts, now: datetime) -> Facts:
    """The same cloud at another time: services that report have reported since."""
    services = tuple(
        replace(row, last_seen=now) if row.reports(facts.taken_at) else row
        for row in facts.services
    )
    return replace(facts, taken_at=now, services=services)
