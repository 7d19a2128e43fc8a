# SPDX-License-Identifier: Apache-2.0
"""From the text of a scenario to facts, an audit and a plan; see tests/scenarios/reading.py."""

from tests.reconcile.observing import plan_of
from tests.scenarios.reading import read_cloud
from trueup.reconcile.audit import Audit, audit
from trueup.reconcile.facts import Facts
from trueup.reconcile.plan import Plan
from trueup.reconcile.verdicts import AuditOptions

# One release, and two allocations that need room, the second of them on the same host.
BROKEN = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server old on h1 deleted=3600
  server web on h1 VCPU=2 MEMORY_MB=256 DISK_GB=6
  server db on h1 VCPU=1 MEMORY_MB=128
holds old h1 VCPU=2 MEMORY_MB=256 DISK_GB=6
holds db h2 VCPU=1 MEMORY_MB=128
"""


def facts_of(text: str) -> Facts:
    return read_cloud(text).facts()


def audited(text: str) -> Audit:
    return audit(facts_of(text), AuditOptions())


def planned(text: str = BROKEN) -> Plan:
    return plan_of(facts_of(text))
