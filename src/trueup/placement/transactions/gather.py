# SPDX-License-Identifier: Apache-2.0
"""Reads and locks the provider of a transaction."""

from trueup.model.errors import ProviderNotFound
from trueup.model.providers import Provider, ProviderRef
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction


def locked_provider(tx: Transaction, uuid: str) -> ProviderRef:
    """Identity and generation of a provider, locked until the end. Raises ProviderNotFound."""
    provider = store.providers.lock_refs(tx, [uuid]).get(uuid)
    if provider is None:
        raise ProviderNotFound(uuid)
    return provider


def locked_provider_details(tx: Transaction, uuid: str) -> Provider:
    """A provider with name, root and parent, locked until the end. Raises ProviderNotFound."""
    provider = store.providers.lock_one(tx, uuid)
    if provider is None:
        raise ProviderNotFound(uuid)
    return provider
