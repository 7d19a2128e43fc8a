# SPDX-License-Identifier: Apache-2.0
"""Providers as the store knows them, by the number a test gave them."""

from tests.placement.client import UUID
from trueup.model.providers import Provider
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.rows import providers


def provider(tx: Transaction, number: int) -> Provider:
    found = providers.of_uuid(tx, UUID(number))
    assert found is not None
    return found
