# SPDX-License-Identifier: Apache-2.0
from trueup.reconcile.facts import ComputeNode
from trueup.reconcile.report.rebuild import reasons_table, rebuild_table, unreported_table
from trueup.reconcile.runbooks.rebuild_consumers import LedgerLine

LINES = (
    LedgerLine("consumer", "a", "web", "VCPU=1 on h1", "", "deleted"),
    LedgerLine("consumer", "b", "db", "", "VCPU=1 on h1", "missing"),
    LedgerLine("consumer", "c", "", "VCPU=1 on h1", "", "deleted"),
)


def test_each_difference_is_a_row():
    _, rows = rebuild_table(LINES)
    assert rows[0] == ("consumer", "a", "web", "VCPU=1 on h1", "nothing", "deleted")
    assert rows[1][3] == "nothing"


def test_reasons_are_counted():
    _, rows = reasons_table(LINES)
    assert rows == [("consumer", 2, "deleted"), ("consumer", 1, "missing")]


def test_hosts_that_did_not_report():
    _, rows = unreported_table([ComputeNode("u", "cell", "h1", "h1.example.org")])
    assert rows == [("u", "h1", "h1.example.org")]
