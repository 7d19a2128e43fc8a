# SPDX-License-Identifier: Apache-2.0
"""A resource provider itself: made, renamed, re-parented, deleted."""

from typing import Any

from trueup.reconcile.changes.target import NOT_AS_PLANNED, Found, Reply, reply_of
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import Change, ProviderFields, ProviderNode, Version, digest

# A parent may be replaced or removed since 1.37 (Xena); the answer has the provider since 1.20.
RE_PARENTING = 37
OK, NO_CONTENT = 200, 204


def read(target: ProviderNode, cloud: Cloud) -> Found:
    """Name and parent; the version is a digest of them.

    A generation would be useless: each allocation raises it, and an undo may come long after.
    """
    row = cloud.placement.document(f"/resource_providers/{target.provider}")
    if row is None:
        return Found(None, {target.provider: None})
    state = ProviderFields(name=row["name"], parent=row["parent_provider_uuid"])
    return Found(state, {target.provider: digest(state)})


def write(change: Change, cloud: Cloud) -> Reply:
    """Make, change or delete the provider.

    PARITY: Placement compares no generation when it renames, re-parents or deletes a provider. So
    we compare the version just before. Only Placement's own rules guard the time in between: a name
    is unique, and a provider with allocations or children is not deleted.
    """
    assert isinstance(change.target, ProviderNode)
    uuid = change.target.provider
    found = read(change.target, cloud)
    if found.version != change.version or found.state != change.before:
        return NOT_AS_PLANNED
    after = change.after
    version = version_after(change)
    path = f"/resource_providers/{uuid}"
    minor = min(cloud.placement.newest_minor(), RE_PARENTING)
    if after is None:
        return reply_of(cloud.placement.send("DELETE", path, None, minor), NO_CONTENT, version)
    assert isinstance(after, ProviderFields)
    body: dict[str, Any] = {"name": after.name, "parent_provider_uuid": after.parent}
    if change.before is None:
        new = body | {"uuid": uuid}
        return reply_of(
            cloud.placement.send("POST", "/resource_providers", new, minor), OK, version
        )
    return reply_of(cloud.placement.send("PUT", path, body, minor), OK, version)


def version_after(change: Change) -> Version:
    """The digest of what is written; a deleted provider has none."""
    return dict.fromkeys(change.version, digest(change.after))
