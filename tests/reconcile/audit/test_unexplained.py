# SPDX-License-Identifier: Apache-2.0
"""Silence means that all is right; what is said instead is in audits/unexplained.txt."""

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit.unexplained import unexplained
from trueup.reconcile.report.reasons import in_words

WRONG = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
provider card of h1 CUSTOM_GPU=4
holds web h1 VCPU=2 MEMORY_MB=256
holds web card CUSTOM_GPU=1
"""


def test_what_differs_from_what_should_be_held_is_told():
    [row] = unexplained(facts_of(WRONG), ())
    assert (row.subject.kind, row.subject.uuid, row.where) == ("instance", uuid_of("web"), "h1")
    assert in_words(row.reason) == (
        "holds CUSTOM_GPU=1 on card; VCPU=2 MEMORY_MB=256 on h1, should hold VCPU=2 "
        "MEMORY_MB=256 on h1; no remedy is known"
    )


def test_why_facts_are_not_certain_is_not_told_twice():
    lost = WRONG.replace("web on h1", "web on h9")
    [row] = unexplained(facts_of(lost), ())
    assert in_words(row.reason) == "cell1 has no compute node for host h9, node h9"
    assert not list(unexplained(facts_of(lost), {uuid_of("web")}))


def test_nothing_is_told_of_an_instance_whose_whole_host_or_cell_is_not_judged():
    without = WRONG.replace("h1 VCPU=8", "h1 without-provider VCPU=8").replace("holds", "#")
    assert not list(unexplained(facts_of(without), ()))
