# SPDX-License-Identifier: Apache-2.0
"""Collect: a cloud → facts. Every source is asked, and coverage says whether it answered."""

from collections.abc import Iterable
from dataclasses import replace

from trueup.reconcile.collect.coverage import OWNERS_NOT_READ, Progress
from trueup.reconcile.collect.selected import collect_selected
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.collect.whole import collect_whole
from trueup.reconcile.facts import Facts, Owner
from trueup.reconcile.garbage import garbage_left
from trueup.reconcile.sources.cloud import Cloud


@garbage_left()
def collect(cloud: Cloud, progress: Progress, selection: Selection = EVERYTHING) -> Facts:
    """Facts about the whole cloud, or about the selected part of it.

    Raises SelectionUnknown. Raises Unreachable if Placement or Nova's API database does not answer,
    because nothing can be judged without them; a cell that does not answer is named in the
    coverage instead.
    """
    if selection.narrows:
        return collect_selected(cloud, progress, selection)
    return collect_whole(cloud, progress)


def with_owners(facts: Facts, cloud: Cloud) -> Facts:
    """The same facts, with the owner of each instance that has allocations.

    Over Placement's API this takes one request for each instance, unless the owners were read.
    """
    if facts.has(OWNERS_NOT_READ.what):
        return facts
    holdings = cloud.placement.holdings(facts.alive.keys() & facts.consumers.keys())
    owners = {
        uuid: Owner(row.allocations.project, row.allocations.user)
        for uuid, row in holdings.items()
        if row.allocations
    }
    return replace(facts, owners=owners)


def with_holdings(facts: Facts, cloud: Cloud, consumers: Iterable[str]) -> Facts:
    """The same facts, with owner and generation of these consumers."""
    return replace(facts, holdings=cloud.placement.holdings(consumers))
