# SPDX-License-Identifier: Apache-2.0
"""Columns to columns, after anybody's writes: reads again what may be different, and no more."""

from trueup.placement import store
from trueup.placement.index.view.build import arrange, with_names, with_usage
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.load import load
from trueup.placement.store.changes import Changed
from trueup.placement.store.database import Transaction
from trueup.placement.store.picture import Names

# PERF: reading all usage takes as long as that of a thousand providers by their ids, and reading
# everything as long as a few hundred providers.
_USAGE_MAX = 1000
_PROVIDERS_MAX = 300


def follow(tx: Transaction, view: View, changed: Changed) -> View:
    """The view with what changed; `tx` must be the snapshot in which that was found out."""
    again = set(changed.providers)
    if changed.everything or len(again) > _PROVIDERS_MAX:
        return load(tx)
    names = Names(view.class_ids, view.trait_ids)
    if changed.names:
        names = store.picture.names(tx)
        if _are_missed(names, view):
            return load(tx)
        again |= _speaking(tx, names, view)
        view = with_names(view, names)
    if len(again) > _PROVIDERS_MAX:
        return load(tx)
    if again:
        view = arrange(store.picture.of_providers(tx, names, again), view, again)
    rest = changed.usage_of - again
    if changed.all_usage or len(rest) > _USAGE_MAX:
        return with_usage(view, store.picture.usage(tx), None)
    return with_usage(view, store.picture.usage(tx, rest), rest) if rest else view


def _are_missed(names: Names, view: View) -> bool:
    """Whether somebody took a name away that providers have; nobody can by a request."""
    class_ids = set(names.class_ids.values())
    return any(stock.class_id not in class_ids for stock in view.stocks.values()) or any(
        names.trait_ids.get(name) != view.trait_ids[name] for name in view.having
    )


def _speaking(tx: Transaction, names: Names, view: View) -> set[int]:
    """The ids of the providers that have something by a name that is new."""
    class_ids = set(names.class_ids.values()) - set(view.class_ids.values())
    trait_ids = set(names.trait_ids.values()) - set(view.trait_ids.values())
    return store.picture.speaking(tx, class_ids, trait_ids)
