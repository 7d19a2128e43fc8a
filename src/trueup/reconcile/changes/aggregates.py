# SPDX-License-Identifier: Apache-2.0
"""All aggregates of a provider, replaced at its generation."""

from trueup.reconcile.changes.target import Found, Reply, generation_after, reply_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Aggregates, AggregatesOf, Change, Version

OK = 200


def read(target: AggregatesOf, cloud: Cloud) -> Found:
    """Every one of them, in order; the version is the provider's generation."""
    row = cloud.placement.document(f"/resource_providers/{target.provider}/aggregates")
    if row is None:
        return Found(None, {target.provider: None})
    version = {target.provider: row["resource_provider_generation"]}
    return Found(Aggregates(tuple(sorted(row["aggregates"]))), version)


def write(change: Change, cloud: Cloud) -> Reply:
    """Replace all aggregates."""
    assert isinstance(change.target, AggregatesOf)
    assert isinstance(change.after, Aggregates)
    uuid = change.target.provider
    body = {
        "resource_provider_generation": change.version[uuid],
        "aggregates": list(change.after.uuids),
    }
    path = f"/resource_providers/{uuid}/aggregates"
    return reply_of(cloud.placement.send("PUT", path, body), OK, version_after(change))


def version_after(change: Change) -> Version:
    """A replace moves the provider's generation by one."""
    return generation_after(change)
