# SPDX-License-Identifier: Apache-2.0
"""Reads the ledger into a view: all of it, or the changes since an older view."""

from trueup.placement import store
from trueup.placement.index.view.build import build, with_names, with_usage
from trueup.placement.index.view.columns import View
from trueup.placement.store.engine.changes import Changed
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.reads.ledger_rows import Names

# PERF: reading all usage takes as long as reading that of a thousand providers by their ids, and
# reading everything as long as reading a few hundred providers.
_USAGE_READ_BY_ID_MAX = 1000
_PROVIDERS_READ_BY_ID_MAX = 300


def load(tx: Transaction) -> View:
    """A new view of this database snapshot."""
    return build(store.ledger_rows.whole(tx))


def refresh(tx: Transaction, view: View, changed: Changed) -> View:
    """The view with these changes, from as few rows as possible.

    `tx` must be the snapshot in which the changes were read, unless `is_one_statement(changed)`.
    """
    ids = set(changed.providers)
    if changed.everything or len(ids) > _PROVIDERS_READ_BY_ID_MAX:
        return load(tx)
    names = Names(view.class_ids, view.trait_ids)
    if changed.names:
        names = store.ledger_rows.names(tx)
        if _lacks_used_names(names, view):
            return load(tx)
        ids |= _users_of_new_names(tx, names, view)
        view = with_names(view, names)
    if len(ids) > _PROVIDERS_READ_BY_ID_MAX:
        return load(tx)
    if ids:
        view = build(store.ledger_rows.of_providers(tx, names, ids), view, ids)
    usage_ids = changed.usage_of - ids
    if changed.all_usage or len(usage_ids) > _USAGE_READ_BY_ID_MAX:
        return with_usage(view, store.ledger_rows.usage(tx), None)
    if not usage_ids:
        return view
    return with_usage(view, store.ledger_rows.usage(tx, usage_ids), usage_ids)


def is_one_statement(changed: Changed) -> bool:
    """Whether `refresh` needs at most one statement: the changes are few, and only of usage."""
    more = changed.providers or changed.names or changed.all_usage or changed.everything
    return not more and len(changed.usage_of) <= _USAGE_READ_BY_ID_MAX


def _lacks_used_names(names: Names, view: View) -> bool:
    """Whether a class or trait that providers have was deleted. No API request can do that."""
    class_ids = set(names.class_ids.values())
    return any(
        inventory.class_id not in class_ids for inventory in view.inventories.values()
    ) or any(names.trait_ids.get(name) != view.trait_ids[name] for name in view.providers_by_trait)


def _users_of_new_names(tx: Transaction, names: Names, view: View) -> set[int]:
    """The ids of the providers that have inventories or traits whose names are new."""
    class_ids = set(names.class_ids.values()) - set(view.class_ids.values())
    trait_ids = set(names.trait_ids.values()) - set(view.trait_ids.values())
    return store.ledger_rows.providers_with(tx, class_ids, trait_ids)
