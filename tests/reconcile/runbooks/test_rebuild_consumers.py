# SPDX-License-Identifier: Apache-2.0
"""What each consumer holds in a new ledger, and which reason each difference has."""

from dataclasses import replace

from tests.reconcile.planning import facts_of
from tests.reconcile.runbooks.rebuilding import answered, made
from tests.scenarios.names import uuid_of
from trueup.reconcile.facts import Allocations, Holding
from trueup.reconcile.host_defaults import HostDefaults
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.runbooks.rebuild import HostsOfNova, rebuilt, strangers_in
from trueup.reconcile.runbooks.rebuild_consumers import NOBODY, counted_by_reason

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
    assert h2.aggregates == {"rack"}
    assert "COMPUTE_STATUS_DISABLED" in h2.traits
    assert ("aggregates", "as the host aggregates that its host is in") in counted_by_reason(
        result.lines
    )


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
