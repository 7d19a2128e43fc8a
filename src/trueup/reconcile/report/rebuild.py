# SPDX-License-Identifier: Apache-2.0
"""A rebuilt ledger as tables: each difference with its reason, or the number for each reason."""

from collections import Counter
from collections.abc import Iterable

from trueup.reconcile.facts import ComputeNode
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.tables import Columns, Table
from trueup.reconcile.runbooks.rebuild_consumers import LedgerLine

REBUILD_COLUMNS: Columns = ("Kind", "Subject", "Name", "Old", "New", "Reason")
REASON_COLUMNS: Columns = ("Kind", "Count", "Reason")
UNREPORTED_COLUMNS: Columns = ("Provider", "Host", "Node")


def rebuild_table(lines: Iterable[LedgerLine]) -> Table:
    """One row for each difference."""
    return REBUILD_COLUMNS, [
        (
            line.kind,
            line.uuid,
            line.name,
            line.old or "nothing",
            line.new or "nothing",
            in_words(line.reason),
        )
        for line in lines
    ]


def reasons_table(lines: Iterable[LedgerLine]) -> Table:
    """One row for each kind and reason."""
    counts = Counter((line.kind, in_words(line.reason)) for line in lines)
    return REASON_COLUMNS, [(kind, n, reason) for (kind, reason), n in sorted(counts.items())]


def unreported_table(nodes: Iterable[ComputeNode]) -> Table:
    """The compute nodes whose nova-compute has not reported to the new ledger yet."""
    return UNREPORTED_COLUMNS, [(row.uuid, row.host, row.node) for row in nodes]
