# SPDX-License-Identifier: Apache-2.0
"""Creates, renames, moves and deletes providers."""

from dataclasses import dataclass

from trueup.model.errors import (
    BadProvider,
    ProviderExists,
    ProviderHasAllocations,
    ProviderHasChildren,
    ProviderNotFound,
)
from trueup.model.providers import Provider, refuse_bad_parent
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction
from trueup.placement.transactions.gather import locked_provider_details


@dataclass(frozen=True, slots=True)
class WantedProvider:
    """The state that a provider is to have. Without `sets_parent` it keeps its parent."""

    uuid: str
    name: str
    parent_uuid: str | None = None
    sets_parent: bool = False


@in_transaction
def create(tx: Transaction, wanted: WantedProvider) -> Provider:
    """Add a provider. Raises BadProvider or ProviderExists."""
    parent = _parent_to_be(tx, wanted)

    _refuse_bad_creation(wanted, parent)
    _refuse_taken(tx, wanted)

    store.providers.insert_provider(tx, wanted.uuid, wanted.name, parent)
    return _present(tx, wanted.uuid)


@in_transaction
def update(tx: Transaction, wanted: WantedProvider, *, may_reparent: bool) -> Provider:
    """Rename a provider, or move it with its descendants.

    Raises ProviderNotFound, BadProvider or ProviderExists.
    """
    if wanted.sets_parent:
        own_and_new = [wanted.uuid, *([wanted.parent_uuid] if wanted.parent_uuid else [])]
        store.providers.keep_trees(tx, own_and_new)
    provider = locked_provider_details(tx, wanted.uuid)
    parent_uuid = wanted.parent_uuid if wanted.sets_parent else provider.parent_uuid
    below = store.providers.subtree(tx, provider)
    parent = store.providers.lock_one(tx, parent_uuid) if parent_uuid else None

    subtree = {member.uuid for member in below}
    refuse_bad_parent(provider, parent_uuid, parent, subtree, may_reparent=may_reparent)
    is_renamed = wanted.name != provider.name
    # MariaDB ignores case: the provider's own name in capitals is not taken.
    if is_renamed and store.providers.is_taken(tx, name=wanted.name, beside=provider):
        raise ProviderExists("name", wanted.name)

    if parent_uuid != provider.parent_uuid:
        store.providers.move(tx, provider, below, parent)
    store.providers.rename(tx, provider, wanted.name)
    return _present(tx, provider.uuid)


@in_transaction
def delete(tx: Transaction, uuid: str) -> None:
    """Delete a provider without children and allocations.

    Raises ProviderNotFound, ProviderHasChildren or ProviderHasAllocations.
    """
    provider = locked_provider_details(tx, uuid)

    if store.providers.has_children(tx, provider):
        raise ProviderHasChildren(uuid)
    if store.providers.has_allocations(tx, provider):
        raise ProviderHasAllocations(uuid)

    store.providers.delete_provider(tx, provider)


def _parent_to_be(tx: Transaction, wanted: WantedProvider) -> Provider | None:
    """The wanted parent, locked against deletion and moves."""
    if not wanted.parent_uuid:
        return None
    store.providers.keep_trees(tx, [wanted.parent_uuid])
    return store.providers.lock_one(tx, wanted.parent_uuid)


def _refuse_bad_creation(wanted: WantedProvider, parent: Provider | None) -> None:
    reason = None
    if not wanted.name:
        reason = "name is required"
    elif wanted.parent_uuid == wanted.uuid:
        reason = (
            "parent provider UUID cannot be same as UUID. "
            "Please set parent provider UUID to None if there is no parent."
        )
    elif wanted.parent_uuid is not None and parent is None:
        reason = "parent provider UUID does not exist."
    if reason:
        raise BadProvider(wanted.name, wanted.uuid, "create", reason)


def _refuse_taken(tx: Transaction, wanted: WantedProvider) -> None:
    # PARITY: the order of upstream on MySQL. Where two threads create the same provider, Nova
    # continues with it if the answer names the UUID; a taken name is another provider's to Nova.
    if store.providers.is_taken(tx, uuid=wanted.uuid):
        raise ProviderExists("uuid", wanted.uuid)
    if store.providers.is_taken(tx, name=wanted.name):
        raise ProviderExists("name", wanted.name)


def _present(tx: Transaction, uuid: str) -> Provider:
    provider = store.providers.of_uuid(tx, uuid)
    if provider is None:
        raise ProviderNotFound(uuid)
    return provider
