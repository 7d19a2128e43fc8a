# SPDX-License-Identifier: Apache-2.0
"""What each consumer holds in a new ledger, and which reason each difference has."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from tests.reconcile.runbooks.rebuilding import answered, made, without_ledger
from tests.scenarios.names import aggregate_of, uuid_of
from trueup.reconcile.facts import Allocations, Holding, HostDefaults
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runbooks.rebuild import HostsOfNova, rebuilt, strangers_in
from trueup.reconcile.runbooks.rebuild_consumers import NOBODY
from trueup.reconcile.verdicts import AuditOptions

DRIFTED = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100 disabled
  server lost on h1 VCPU=1 MEMORY_MB=64
  server old on h1 deleted=3600
  server just on h1 deleted=20
  server busy on h2 task=rebuilding VCPU=1 MEMORY_MB=64
aggregate rack h2
holds old h1 VCPU=2 MEMORY_MB=256
holds just h1 VCPU=2 MEMORY_MB=256
holds busy h1 VCPU=1 MEMORY_MB=64
holds zun h1 VCPU=1
"""


def test_only_what_an_audit_finds_differs():
    facts = facts_of(DRIFTED)
    result = made(facts)
    reasons, new = answered(result), result.facts.consumers
    lost, old, just, busy, zun = (uuid_of(one) for one in ("lost", "old", "just", "busy", "zun"))
    assert reasons[lost].startswith("missing-allocation: ")
    assert reasons[old].startswith("orphaned-allocation: ")
    assert old not in new
    for untouched in (just, busy, zun):
        assert new[untouched] == facts.consumers[untouched]
    assert busy not in reasons, "what is in motion is as it was"
    assert reasons[zun] == "copied: no cell knows it, and absence is no proof"
    [h2] = [row for row in result.facts.providers.values() if row.name == "h2"]
    assert h2.aggregates == {aggregate_of("rack")}
    assert "COMPUTE_STATUS_DISABLED" in h2.traits
    assert ("aggregates", "as-host-aggregates") in {
        (row.kind, row.reason.name) for row in result.lines
    }


def test_a_stranger_keeps_its_owner_and_type():
    facts = facts_of(DRIFTED)
    zun = uuid_of("zun")
    assert strangers_in(facts) == (zun,)
    holding = Holding(Allocations(facts.consumers[zun], "p", "u", "CONTAINER"), 3)
    hosts = HostsOfNova({}, HostDefaults())
    known = rebuilt(replace(facts, owners={}), hosts, {zun: holding}, AuditOptions())
    assert known.allocations[zun] == holding.allocations
    unknown = rebuilt(replace(facts, owners={}), hosts, {}, AuditOptions())
    assert unknown.allocations[zun].project == NOBODY


PLAIN = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server web on h1 VCPU=2 MEMORY_MB=256
cell2
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
"""
CAPITALS = PLAIN + "holds web-without-dashes h1 VCPU=2 MEMORY_MB=256\n"
QUEUED = PLAIN + "map web cell1 queued\n"
IN_TWO = PLAIN + "  server web on h2 VCPU=2 MEMORY_MB=256\n"


BUSY = "VCPU=2 MEMORY_MB=256 task=rebooting\ncell2"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CAPITALS, "Placement has a second consumer with its uuid"),
        (CAPITALS.replace("VCPU=2 MEMORY_MB=256\ncell2", BUSY), "a second consumer with its uuid"),
        (QUEUED, "its instance mapping is queued for deletion"),
        (IN_TWO, "several rows of it are alive, in cell1 and cell2"),
        (IN_TWO.replace("VCPU=2 MEMORY_MB=256\ncell2", BUSY), "several rows of it are alive"),
    ],
)
def test_what_an_audit_refuses_to_judge_gets_nothing(text, why):
    facts = facts_of(text)
    result = made(facts)
    assert result.facts.consumers == facts.consumers, "what is there is copied, and no more"
    [line] = [one for one in result.lines if one.uuid == uuid_of("web")]
    assert in_words(line.reason).startswith("could not be checked: ")
    assert why in in_words(line.reason)
    assert line.new == ""


def test_a_consumer_in_another_form_is_copied_as_what_it_is():
    result = made(facts_of(CAPITALS))
    [held] = result.allocations
    assert held != uuid_of("web")
    reason = f"copied: it is {uuid_of('web')}, written in another form"
    assert answered(result)[held] == reason


def test_it_keeps_what_the_old_ledger_has():
    facts = facts_of(IN_TWO + "holds web h1 VCPU=1 MEMORY_MB=256\n")
    assert made(facts).facts.consumers == facts.consumers


def test_a_move_that_is_under_way_is_allocated():
    """A live migration has its guest on the other host for a moment."""
    text = PLAIN.replace("cell2\n", "") + (
        "  live-migration of web from h1 to h2 running\n"
        "guest web on h2 running\nhypervisor h1\nhypervisor h2\n"
    )
    facts = without_ledger(facts_of(text))
    assert made(facts).allocations.keys() == {uuid_of("web"), facts.migrations[0].uuid}
