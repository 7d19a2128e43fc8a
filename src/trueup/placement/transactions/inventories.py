# SPDX-License-Identifier: Apache-2.0
"""Writes the inventories of a provider, one or all of them."""

import logging
from collections.abc import Iterable, Mapping, Sequence

from trueup.model.errors import (
    InventoryExists,
    InventoryInUse,
    InventoryNotFound,
    ResourceClassNotFound,
)
from trueup.model.generations import UNCHECKED, ExpectedGeneration
from trueup.model.inventories import Inventory, InventoryWithUsage
from trueup.model.names import is_custom
from trueup.model.providers import AnyProvider, ProviderRef, refuse_stale_provider
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction
from trueup.placement.transactions.gather import locked_provider

_log = logging.getLogger(__name__)


@in_transaction
def create(tx: Transaction, uuid: str, wanted: Inventory) -> int:
    """Add one inventory, and return the new generation of the provider.

    Raises ProviderNotFound, ResourceClassNotFound or InventoryExists.
    """
    provider = locked_provider(tx, uuid)
    class_ids = _class_ids(tx, [wanted.resource_class])
    existing = store.inventories.of_provider(tx, provider)

    if wanted.resource_class in existing:
        raise InventoryExists(uuid, wanted.resource_class)

    _add(tx, provider, [wanted], class_ids)
    return _bumped(tx, provider)


@in_transaction
def replace(tx: Transaction, uuid: str, wanted: Inventory, expected: ExpectedGeneration) -> int:
    """Change one inventory, and return the new generation of the provider.

    Raises ProviderNotFound, StaleProvider, ResourceClassNotFound or InventoryNotFound.
    """
    provider = locked_provider(tx, uuid)
    refuse_stale_provider(provider, expected)
    class_ids = _class_ids(tx, [wanted.resource_class])
    inventories, _ = store.inventories.with_usage(tx, [provider], class_ids)

    if (provider.uuid, wanted.resource_class) not in inventories:
        raise InventoryNotFound(wanted.resource_class)

    _warn_of_overcommit(provider, [wanted], _used(inventories))
    store.inventories.update_inventories(tx, provider, [wanted], class_ids)
    return _bumped(tx, provider)


@in_transaction
def replace_all(
    tx: Transaction,
    uuid: str,
    wanted: Iterable[Inventory],
    expected: ExpectedGeneration = UNCHECKED,
) -> int:
    """Give the provider exactly these inventories, and return its new generation.

    Raises ProviderNotFound, StaleProvider, ResourceClassNotFound or InventoryInUse.
    """
    provider = locked_provider(tx, uuid)
    refuse_stale_provider(provider, expected)
    replace_all_within(tx, provider, wanted)
    return _bumped(tx, provider)


def replace_all_within(tx: Transaction, provider: AnyProvider, wanted: Iterable[Inventory]) -> None:
    """`replace_all` as a part of a larger transaction, which bumps the generation itself."""
    by_class = {inventory.resource_class: inventory for inventory in wanted}
    inventories, present = store.inventories.with_usage(tx, [provider])
    # A class with an inventory cannot be deleted, so its id is not read again.
    new_classes = [name for name in by_class if name not in present]
    class_ids = {**present, **_class_ids(tx, new_classes)}
    gone = [present[name] for name in present if name not in by_class]

    _refuse_used(tx, provider, gone)

    store.inventories.delete_inventories(tx, provider, gone)
    _add(tx, provider, [by_class[name] for name in new_classes], class_ids)
    changed = [inventory for name, inventory in by_class.items() if name in present]
    _warn_of_overcommit(provider, changed, _used(inventories))
    store.inventories.update_inventories(tx, provider, changed, class_ids)


@in_transaction
def delete(tx: Transaction, uuid: str, resource_class: str) -> None:
    """Remove one inventory.

    Raises ProviderNotFound, ResourceClassNotFound, InventoryInUse or InventoryNotFound.
    """
    provider = locked_provider(tx, uuid)
    class_ids = _class_ids(tx, [resource_class])

    _refuse_used(tx, provider, list(class_ids.values()))
    if resource_class not in store.inventories.of_provider(tx, provider):
        raise InventoryNotFound(resource_class)

    store.inventories.delete_inventories(tx, provider, list(class_ids.values()))
    store.providers.bump_generations(tx, [provider.id])


def _class_ids(tx: Transaction, names: Iterable[str]) -> dict[str, int]:
    # SAFETY: without the lock, a class could be deleted meanwhile, and the inventory would refer to
    # no class. Classes are always locked after providers.
    class_ids = store.class_and_trait_names.class_ids(tx, names, keep=True)
    for name in names:
        if name not in class_ids:
            raise ResourceClassNotFound(name)
    return class_ids


def _add(
    tx: Transaction, provider: AnyProvider, new: Sequence[Inventory], class_ids: Mapping[str, int]
) -> None:
    # SAFETY: the lock of a class has no effect on another node of a cluster. Standard classes are
    # never deleted.
    names = [inventory.resource_class for inventory in new]
    custom = [class_ids[name] for name in names if is_custom(name)]
    store.lock_rows.take(tx, store.lock_rows.RESOURCE_CLASS, custom)
    store.inventories.insert_inventories(tx, provider, new, class_ids)


def _refuse_used(tx: Transaction, provider: AnyProvider, class_ids: list[int]) -> None:
    used = store.inventories.used_classes(tx, provider, class_ids)
    if used:
        raise InventoryInUse(provider.uuid, tuple(used))


def _used(inventories: Mapping[tuple[str, str], InventoryWithUsage]) -> dict[str, int]:
    return {resource_class: present.used for (_, resource_class), present in inventories.items()}


def _warn_of_overcommit(
    provider: AnyProvider, wanted: Iterable[Inventory], used: Mapping[str, int]
) -> None:
    """Log a warning for each inventory whose capacity is below its usage; this is allowed."""
    for inventory in wanted:
        if used.get(inventory.resource_class, 0) > inventory.capacity:
            _log.warning(
                "Resource provider %s is now over-capacity for %s",
                provider.uuid,
                inventory.resource_class,
            )


def _bumped(tx: Transaction, provider: ProviderRef) -> int:
    store.providers.bump_generations(tx, [provider.id])
    return provider.generation + 1
