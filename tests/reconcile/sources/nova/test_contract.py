# SPDX-License-Identifier: Apache-2.0
"""What the readers of Nova return: how many rows it counts as."""

from trueup.reconcile.facts import BuildRequest, ComputeNode, HostAggregate
from trueup.reconcile.sources.notes import Noted
from trueup.reconcile.sources.nova.contract import CellContents, Registry


def test_rows_that_were_lost_count_as_read():
    node = ComputeNode("u", "c", "h", "n")
    assert CellContents().rows == 0
    assert CellContents(compute_nodes=(node, node), noted=Noted(lost_rows=3)).rows == 5


def test_a_registry_counts_every_kind_of_row_once():
    registry = Registry(
        build_requests=(BuildRequest("i"),),
        request_specs=frozenset({"i", "j"}),
        host_aggregates=(HostAggregate("u", "a"),),
        noted=Noted(lost_rows=1),
    )
    assert registry.rows == 5
