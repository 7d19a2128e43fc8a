# SPDX-License-Identifier: Apache-2.0
"""Changes: the targets that a step may change. Nothing else writes to a cloud."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from msgspec.structs import replace

from trueup.reconcile.changes import (
    allocations,
    compute_services,
    domains,
    port_bindings,
    providers,
    trees,
    whole_providers,
)
from trueup.reconcile.changes.provider_parts import AGGREGATES, INVENTORIES, TRAITS
from trueup.reconcile.changes.target import Found, Reply, TargetKind
from trueup.reconcile.facts import Provider
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import (
    AggregatesOf,
    AllocationsOf,
    Change,
    DomainDefinition,
    InventoriesOf,
    PortBinding,
    ProviderNode,
    ServiceRecord,
    Step,
    Target,
    TraitsOf,
    Tree,
    Version,
    WholeProvider,
    held_in,
)

_KINDS: dict[type[Target], TargetKind] = {
    AllocationsOf: allocations,
    ProviderNode: providers,
    InventoriesOf: INVENTORIES,
    TraitsOf: TRAITS,
    AggregatesOf: AGGREGATES,
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


# Their version is a generation, which also moves when other parts of the provider are written.
_COMPARED_BY_CONTENT = (InventoriesOf, TraitsOf, AggregatesOf)


class Fate(Enum):
    """What the present state of a target shows about a change of it."""

    UNWRITTEN = "it is as it was before"
    WRITTEN = "it is as the change leaves it, at the version that the change leaves"
    FOREIGN = "somebody else has written to it"


def read(target: Target, cloud: Cloud) -> Found:
    """A target as it is now. Raises Unreachable and AccessDenied."""
    return _KINDS[type(target)].read(target, cloud)


def write(
    change: Change, cloud: Cloud, before_retry: Callable[[Version], None] = lambda _: None
) -> Reply:
    """Write a change once. Raises AccessDenied, and Unreachable if there was no answer.

    If a refusal names the target's version, the change is written once more, at that version.
    SAFETY: `before_retry` gets that version first, for the journal: without it, our own write would
    not be recognized after a kill.
    """
    kind = _KINDS[type(change.target)]
    reply = kind.write(change, cloud)
    if reply.named is None:
        return reply
    before_retry(reply.named)
    return kind.write(replace(change, version=reply.named), cloud)


def tidy(change: Change, cloud: Cloud) -> None:
    """Remove what an interrupted write of several requests has left half made.

    Only for a change whose intent is in the journal. Raises Unreachable and AccessDenied.
    """
    if isinstance(change.target, WholeProvider):
        whole_providers.tidy(change, cloud)


def version_after(change: Change) -> Version | None:
    """The version that only this change leaves, for the parts where it is known."""
    return _KINDS[type(change.target)].version_after(change)


def not_restorable(step: Step, providers: Mapping[str, Provider]) -> Reason | None:
    """Why a step could not be undone: no API accepts what it changes; None for nearly every step.

    `providers` are those of the facts behind the step.
    """
    return next(
        (
            because("held-without-inventory", consumer=consumer, provider=provider, held=held)
            for change in step.changes
            for consumer, provider, held in allocations.without_inventory(
                held_in(change.before), providers
            )
        ),
        None,
    )


def permanent_in(steps: Iterable[Step]) -> Reason | None:
    """Why one of these steps can never be taken back once it is done; or None.

    An undo of the others is refused then, too.
    """
    reasons = (permanent(change) for step in steps for change in step.changes)
    return next(filter(None, reasons), None)


def permanent(change: Change) -> Reason | None:
    """Why a change can never be undone; None for nearly every change."""
    is_deletion = isinstance(change.target, ServiceRecord) and change.after is None
    return compute_services.NOT_MADE_AGAIN if is_deletion else None


def noun(change: Change) -> str:
    """What a change replaces, as a noun in the plural."""
    return _NOUNS[type(change.target)]


def fate(change: Change, found: Found, sent: Version | None = None) -> Fate:
    """Whether a target is as before a change or as after it.

    `sent`: the version of the last write, if a refusal named one. A target that holds nothing does
    not show that version, and is as before nevertheless. SAFETY: if the state is `after` but the
    version is another, somebody else wrote it. If it counted as ours, an undo would destroy it.
    """
    by_content = isinstance(change.target, _COMPARED_BY_CONTENT)
    if found.state == change.before and (by_content or found.version == change.version):
        return Fate.UNWRITTEN
    written = change if sent is None else replace(change, version=sent)
    ours = version_after(written) or {}
    if found.state == change.after and ours.items() <= found.version.items():
        return Fate.WRITTEN
    return Fate.FOREIGN
