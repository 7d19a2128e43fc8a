# SPDX-License-Identifier: Apache-2.0
"""The provider in a URL, which has to exist before the body is checked."""

from collections.abc import Iterator
from contextlib import contextmanager

from trueup.model.errors import BadCapacity, ProviderNotFound
from trueup.model.providers import ProviderRef, refuse_stale_provider
from trueup.placement import store
from trueup.placement.api.errors import Refused
from trueup.placement.api.http import Request
from trueup.placement.store.engine.database import Transaction


def existing_provider(tx: Transaction, uuid: str) -> ProviderRef:
    """The provider with this UUID. Raises ProviderNotFound."""
    provider = store.providers.find_ref(tx, uuid)
    if provider is None:
        raise ProviderNotFound(uuid)
    return provider


@contextmanager
def provider_comes_first(
    request: Request, uuid: str, generation: int | None = None
) -> Iterator[None]:
    """Within this block a bad body is refused only if the provider exists.

    PARITY: a missing provider is answered before a bad body, and a stale `generation` before bad
    capacities. The transaction looks for both itself, so only a refusal has to look here too.
    """
    try:
        yield
    except (Refused, BadCapacity):
        with request.database.reading() as tx:
            provider = existing_provider(tx, uuid)
        if generation is not None:
            refuse_stale_provider(provider, generation)
        raise
