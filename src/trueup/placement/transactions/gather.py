# SPDX-License-Identifier: Apache-2.0
"""What most verbs read first: the provider they are about, locked."""

from trueup.model.errors import ProviderNotFound
from trueup.model.providers import KnownProvider, Provider
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction


def provider_to_change(tx: Transaction, uuid: str) -> KnownProvider:
    """The provider, locked until the end of the transaction. Raises ProviderNotFound."""
    provider = store.providers.lock_known(tx, [uuid]).get(uuid)
    if provider is None:
        raise ProviderNotFound(uuid)
    return provider


def whole_provider_to_change(tx: Transaction, uuid: str) -> Provider:
    """The same with its name and its place in the tree. Raises ProviderNotFound."""
    provider = store.providers.lock_one(tx, uuid)
    if provider is None:
        raise ProviderNotFound(uuid)
    return provider
