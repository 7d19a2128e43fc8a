# SPDX-License-Identifier: Apache-2.0
"""Faults of one kind become a finding for each provider, of those that are judged."""

from dataclasses import replace

from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.rules.ledger_faults import finder
from trueup.reconcile.verdicts import AuditOptions, Severity

FACTS = facts_of(
    "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\n"
    "ledger-fault consumerless h1 VCPU=2 a\nledger-fault consumerless h1 MEMORY_MB=64 b\n"
    "ledger-fault consumerless h2 VCPU=1 c\nledger-fault tree h2 d\n"
)

find = finder("consumerless", "a-defect", Severity.HIGH)


def test_the_faults_of_a_provider_are_one_finding():
    found = list(find(FACTS, AuditOptions()))
    assert {(one.where, len(one.evidence["rows"])) for one in found} == {("h1", 2), ("h2", 1)}


def test_only_what_is_judged_is_told():
    narrow = replace(FACTS, providers_in_scope=frozenset({uuid_of("h2")}))
    [one] = find(narrow, AuditOptions())
    assert one.where == "h2"
