# SPDX-License-Identifier: Apache-2.0
"""All traits of a provider, replaced at its generation."""

from trueup.reconcile.changes.target import Found, Reply, generation_after, reply_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Change, Traits, TraitsOf, Version

OK = 200


def read(target: TraitsOf, cloud: Cloud) -> Found:
    """Every one of them, in order; the version is the provider's generation."""
    row = cloud.placement.document(f"/resource_providers/{target.provider}/traits")
    if row is None:
        return Found(None, {target.provider: None})
    version = {target.provider: row["resource_provider_generation"]}
    return Found(Traits(tuple(sorted(row["traits"]))), version)


def write(change: Change, cloud: Cloud) -> Reply:
    """Replace all traits."""
    assert isinstance(change.target, TraitsOf)
    assert isinstance(change.after, Traits)
    uuid = change.target.provider
    body = {
        "resource_provider_generation": change.version[uuid],
        "traits": list(change.after.names),
    }
    path = f"/resource_providers/{uuid}/traits"
    return reply_of(cloud.placement.send("PUT", path, body), OK, version_after(change))


def version_after(change: Change) -> Version:
    """A replace moves the provider's generation by one."""
    return generation_after(change)
