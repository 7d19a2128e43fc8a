# SPDX-License-Identifier: Apache-2.0
"""Creates, renames and deletes custom resource classes."""

from trueup.model.errors import (
    ResourceClassExists,
    ResourceClassInUse,
    ResourceClassNotFound,
    StandardResourceClass,
)
from trueup.model.names import is_custom
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction
from trueup.placement.store.rows.class_and_trait_names import NamedRow


@in_transaction
def create(tx: Transaction, name: str) -> None:
    """Add a resource class. Raises ResourceClassExists."""
    if store.class_and_trait_names.resource_class(tx, name) is not None:
        raise ResourceClassExists(name)
    store.class_and_trait_names.insert_resource_class(tx, name)


@in_transaction
def rename(tx: Transaction, name: str, new_name: str) -> None:
    """Give a resource class another name.

    Raises ResourceClassNotFound, StandardResourceClass or ResourceClassExists.
    """
    word = _class_to_change(tx, name)

    if new_name != name and store.class_and_trait_names.resource_class(tx, new_name) is not None:
        raise ResourceClassExists(new_name)

    store.class_and_trait_names.rename_resource_class(tx, word, new_name)


@in_transaction
def delete(tx: Transaction, name: str) -> None:
    """Delete a resource class.

    Raises ResourceClassNotFound, StandardResourceClass or ResourceClassInUse.
    """
    word = _class_to_change(tx, name)

    if store.class_and_trait_names.is_class_used(tx, word):
        raise ResourceClassInUse(name)

    store.class_and_trait_names.delete_resource_class(tx, word)


def _class_to_change(tx: Transaction, name: str) -> NamedRow:
    word = store.class_and_trait_names.resource_class(tx, name)
    if word is None or not store.class_and_trait_names.lock_resource_class(tx, word):
        raise ResourceClassNotFound(name)
    if not is_custom(name):
        raise StandardResourceClass(name)
    return word
