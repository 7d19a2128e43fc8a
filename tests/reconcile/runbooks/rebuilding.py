# SPDX-License-Identifier: Apache-2.0
"""Clouds whose ledger is rebuilt, with every host of the same size."""

from dataclasses import replace

from trueup.reconcile.facts import ComputeNode, Facts, Hardware, HostDefaults
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runbooks.rebuild import HostsOfNova, Rebuilt, rebuilt
from trueup.reconcile.verdicts import AuditOptions

HARDWARE = Hardware(8, 8192, 100, None, None, None)


def made(facts: Facts) -> Rebuilt:
    hardware = {row.uuid: HARDWARE for row in facts.compute_nodes}
    return rebuilt(facts, HostsOfNova(hardware, HostDefaults()), {}, AuditOptions())


def without_ledger(facts: Facts) -> Facts:
    return replace(facts, providers={}, consumers={}, owners={}, holdings={})


def with_node(facts: Facts, host: str, **columns: str) -> Facts:
    """The same facts, after somebody changed columns of the compute node of a host."""

    def changed(row: ComputeNode) -> ComputeNode:
        return replace(row, **columns) if row.host == host else row

    return replace(facts, compute_nodes=tuple(map(changed, facts.compute_nodes)))


def answered(result: Rebuilt) -> dict[str, str]:
    """The reason of each line, by its subject."""
    return {one.uuid: in_words(one.reason) for one in result.lines}
