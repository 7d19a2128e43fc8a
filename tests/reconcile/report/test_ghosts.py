# SPDX-License-Identifier: Apache-2.0
"""The words of the three views where one of them knows nothing."""

from tests.reconcile.planning import facts_of, planned
from tests.scenarios.names import uuid_of
from trueup.reconcile.audit import observation
from trueup.reconcile.report.ghosts import ghosts_table
from trueup.reconcile.runbooks.ghosts import GhostChoice, compared
from trueup.reconcile.verdicts import AuditOptions

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 task=rebuilding VCPU=2 MEMORY_MB=256
guest stray on h1 running
holds gone h1 VCPU=2 MEMORY_MB=256
"""


def test_what_is_not_known_is_said():
    seen = observation(facts_of(CLOUD), AuditOptions())
    columns, rows = ghosts_table(compared(seen, GhostChoice()), planned(CLOUD), seen.facts)
    said = {row[0]: dict(zip(columns, row, strict=True)) for row in rows}
    stray, gone, web = (said[uuid_of(name)] for name in ("stray", "gone", "web"))
    assert (stray["Nova"], stray["Placement"]) == ("no cell knows it", "nothing")
    assert gone["Hypervisor"] == "no domain"
    assert web["Nova"] == "active, rebuilding on h1"
    assert web["Verdict"] == "left alone: its task state is rebuilding"
