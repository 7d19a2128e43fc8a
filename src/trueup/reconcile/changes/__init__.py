# SPDX-License-Identifier: Apache-2.0
"""Changes: the targets that a step may change, one file each. Nothing else writes to a cloud."""

from enum import Enum

from trueup.reconcile.changes import (
    aggregates,
    allocations,
    compute_services,
    domains,
    inventories,
    port_bindings,
    providers,
    traits,
    trees,
    whole_providers,
)
from trueup.reconcile.changes.target import Found, Reply, TargetKind
from trueup.reconcile.domain_definition import DomainDefinition
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import (
    AggregatesOf,
    AllocationsOf,
    Change,
    InventoriesOf,
    PortBinding,
    ProviderNode,
    ServiceRecord,
    Target,
    TraitsOf,
    Tree,
    Version,
)
from trueup.reconcile.whole_provider import WholeProvider

__all__ = ["Fate", "Found", "Reply", "fate", "noun", "read", "version_after", "write"]

_KINDS: dict[type[Target], TargetKind] = {
    AllocationsOf: allocations,
    ProviderNode: providers,
    InventoriesOf: inventories,
    TraitsOf: traits,
    AggregatesOf: aggregates,
    Tree: trees,
    PortBinding: port_bindings,
    ServiceRecord: compute_services,
    DomainDefinition: domains,
    WholeProvider: whole_providers,
}
_NOUNS: dict[type[Target], str] = {
    AllocationsOf: "allocations",
    ProviderNode: "name and parent",
    InventoriesOf: "inventories",
    TraitsOf: "traits",
    AggregatesOf: "aggregates",
    Tree: "inventories and allocations",
    PortBinding: "binding profile and revision",
    ServiceRecord: "service settings",
    DomainDefinition: "domain definitions",
    WholeProvider: "name, parent, inventories, traits and aggregates",
}


class Fate(Enum):
    """What the present state of a target says about a change of it."""

    UNWRITTEN = "it is as it was before"
    WRITTEN = "it is as the change leaves it, at the version that the change leaves"
    FOREIGN = "somebody else has written to it"


def read(target: Target, cloud: Cloud) -> Found:
    """A target as it is now. Raises Unreachable and AccessDenied."""
    return _KINDS[type(target)].read(target, cloud)


def write(change: Change, cloud: Cloud) -> Reply:
    """Write a change once. Raises AccessDenied, and Unreachable if there was no answer."""
    return _KINDS[type(change.target)].write(change, cloud)


def version_after(change: Change) -> Version | None:
    """The version that only this change leaves, for those parts where that is known."""
    return _KINDS[type(change.target)].version_after(change)


def noun(change: Change) -> str:
    """What a change replaces, as a noun in the plural."""
    return _NOUNS[type(change.target)]


def fate(change: Change, found: Found) -> Fate:
    """Whether a target is as before a change or as after it.

    SAFETY: if the state is `after` but the version is another one, somebody else wrote it. If it
    counted as ours, an undo would destroy it.
    """
    if found.state == change.before and found.version == change.version:
        return Fate.UNWRITTEN
    ours = version_after(change) or {}
    if found.state == change.after and ours.items() <= found.version.items():
        return Fate.WRITTEN
    return Fate.FOREIGN
