# SPDX-License-Identifier: Apache-2.0
"""The provider in a URL, which must exist before the body is checked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from trueup.model.errors import BadCapacity, ProviderNotFound
from trueup.model.providers import refuse_stale_provider
from trueup.placement import store
from trueup.placement.api.errors import Refused
from trueup.placement.api.http import Request
from trueup.placement.store.engine.database import Transaction

_Found = TypeVar("_Found")


def read_of_provider(
    request: Request, uuid: str, read: Callable[[Transaction, str], tuple[int, _Found] | None]
) -> tuple[int, _Found]:
    """The generation of the provider with this UUID, and the result of `read`.

    Raises ProviderNotFound.
    """
    with request.database.reading() as tx:
        found = read(tx, uuid)
    if found is None:
        raise ProviderNotFound(uuid)
    return found


@contextmanager
def provider_comes_first(
    request: Request, uuid: str, generation: int | None = None
) -> Iterator[None]:
    """Within this block a bad body is refused only if the provider exists.

    PARITY: a missing provider is reported before a bad body, and a stale `generation` before bad
    capacities. The transaction checks both itself, so only a refusal checks them here.
    """
    try:
        yield
    except (Refused, BadCapacity):
        with request.database.reading() as tx:
            provider = store.providers.find_ref(tx, uuid)
        if provider is None:
            raise ProviderNotFound(uuid) from None
        if generation is not None:
            refuse_stale_provider(provider, generation)
        raise
