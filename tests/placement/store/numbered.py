# SPDX-License-Identifier: Apache-2.0
"""Providers as the store knows them, by the number a test gave them."""

from tests.placement.client import UUID
from trueup.model.providers import Provider
from trueup.placement.store import providers
from trueup.placement.store.database import Transaction


def provider(tx: Transaction, number: int) -> Provider:
    found = providers.of_uuid(tx, UUID(number))
    assert found is not None
    return found
