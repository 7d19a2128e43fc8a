# SPDX-License-Identifier: Apache-2.0
"""Resource providers, and when one may become the parent of another."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from trueup.model.errors import BadProvider, StaleProvider
from trueup.model.generations import UNCHECKED, ExpectedGeneration


class ProviderRef(NamedTuple):
    """Identity and generation of a provider."""

    id: int
    uuid: str
    generation: int


class ListedProviders(NamedTuple):
    """A list of providers, as columns of equal length.

    PERF: making an object for each of many thousands of providers takes as long as reading them.
    """

    uuids: Sequence[str] = ()
    names: Sequence[str] = ()
    generations: Sequence[int | None] = ()
    root_uuids: Sequence[str | None] = ()
    parent_uuids: Sequence[str | None] = ()

    def some(self, rows: slice) -> "ListedProviders":
        """These rows of the list."""
        return ListedProviders(
            self.uuids[rows],
            self.names[rows],
            self.generations[rows],
            self.root_uuids[rows],
            self.parent_uuids[rows],
        )


@dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider. `id` and `root_id` are keys of the store, without meaning elsewhere.

    A `generation` of None is shown as null, and compares as 0.
    """

    id: int
    uuid: str
    name: str
    generation: int | None
    root_uuid: str | None
    parent_uuid: str | None = None
    root_id: int = 0
    modified_at: datetime | None = None


AnyProvider = Provider | ProviderRef


def refuse_stale_provider(
    provider: AnyProvider, expected: ExpectedGeneration, *, raised_by: int = 0
) -> None:
    """Raise StaleProvider if the client expects another generation than the present one.

    `raised_by` is how often this request has already raised it.
    """
    if expected is UNCHECKED:
        return
    # PARITY: in JSON a generation may be written as 3.0.
    given = -1 if expected is None else int(expected)
    actual = provider.generation or 0
    if actual != given + raised_by:
        raise StaleProvider(uuid=provider.uuid, actual=actual, given=given)


def refuse_bad_parent(
    provider: Provider,
    parent_uuid: str | None,
    parent: Provider | None,
    subtree: Collection[str],
    *,
    may_reparent: bool,
) -> None:
    """Raise BadProvider if `provider` may not move below `parent`, or out of its tree.

    `parent` is the provider that `parent_uuid` names, if it exists; `subtree` has the UUIDs of
    `provider` and its descendants. Only a provider that has a parent needs `may_reparent`.
    """

    def refused(action: str, reason: str) -> BadProvider:
        return BadProvider(provider.name, provider.uuid, action, reason)

    moves = provider.parent_uuid is not None and parent_uuid != provider.parent_uuid
    if parent_uuid is None:
        if moves and not may_reparent:
            raise refused("update", "un-parenting a provider is not currently allowed.")
        return
    if parent is None:
        raise refused("create", "parent provider UUID does not exist.")
    if moves and not may_reparent:
        raise refused("update", "re-parenting a provider is not currently allowed.")
    if parent.uuid in subtree:
        raise refused("update", "creating loop in the provider tree is not allowed.")
