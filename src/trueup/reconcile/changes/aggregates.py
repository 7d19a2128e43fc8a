# SPDX-License-Identifier: Apache-2.0
"""All aggregates of a provider, replaced at its generation."""

from collections.abc import Iterable

from trueup.reconcile.changes.provider_parts import read_part, replace_part
from trueup.reconcile.changes.target import Found, Reply, generation_after
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Aggregates, AggregatesOf, Change

version_after = generation_after


def read(target: AggregatesOf, cloud: Cloud) -> Found:
    """Every one of them, in order."""
    return read_part("aggregates", target.provider, cloud, _listed)


def write(change: Change, cloud: Cloud) -> Reply:
    """Replace all aggregates."""
    assert isinstance(change.after, Aggregates)
    return replace_part("aggregates", change, cloud, list(change.after.uuids), read)


def _listed(uuids: Iterable[str | None]) -> Aggregates:
    """The aggregates in the order in which they are compared. One of them may be NULL."""
    return Aggregates(tuple(sorted(one or "" for one in uuids)))
