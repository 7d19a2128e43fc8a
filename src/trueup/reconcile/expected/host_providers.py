# SPDX-License-Identifier: Apache-2.0
"""Places: from which provider of a host an amount comes, where that can be told from inventories.

Nova keeps no note of the provider that it was given; but most hosts have each class only once.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.expected.groups import UNSUFFIXED, Group
from trueup.reconcile.expected.parts import Ambiguous, Known, NotOurs, Part
from trueup.reconcile.facts import Facts, Provider

# Classes that another service made, and gives out itself: prefix → service.
_OWNERS = {"CUSTOM_RESERVATION_": "Blazar"}


@dataclass(frozen=True, slots=True)
class Place:
    """A host as Placement sees it: its tree, and the pools that are shared with it."""

    root: str
    tree: tuple[Provider, ...]
    pools: tuple[Provider, ...]

    def having(self, names: Iterable[str]) -> tuple[str, ...]:
        """The providers of the tree, then the pools, that have inventory of all these classes."""
        wanted = set(names)
        return tuple(
            provider.uuid
            for provider in (*self.tree, *self.pools)
            if wanted <= provider.inventories.keys()
        )


def place_of(root: str, facts: Facts) -> Place:
    """The place whose root provider this is."""
    return Place(
        root,
        facts.trees.get(root, ()),
        tuple(row for row in facts.sharing if root in row.shares_with and row.root != root),
    )


def parts_of(groups: Iterable[Group], place: Place, source: str) -> Iterator[Part]:
    """Each group on its provider. A class of the group without a suffix stands for itself."""
    for group in groups:
        if group.suffix == UNSUFFIXED:
            alone = ({name: amount} for name, amount in group.amounts.items())
            yield from _joined(part for one in alone for part in _judged(source, one, place))
        else:
            yield from _judged(f"{source}, group {group.suffix}", group.amounts, place)


def on_one_of(source: str, amounts: Mapping[str, int], providers: tuple[str, ...]) -> Part:
    """Known where there is one provider to choose from."""
    if len(providers) == 1:
        return Known(source, amounts, providers[0])
    return Ambiguous(source, amounts, providers)


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """What is known of one provider as one part, behind all that is not."""
    known: dict[str, Known] = {}
    for part in parts:
        if isinstance(part, Known):
            before = known.get(part.provider)
            amounts = {**(before.amounts if before else {}), **part.amounts}
            known[part.provider] = Known(part.source, amounts, part.provider)
        else:
            yield part
    yield from known.values()


def _judged(source: str, amounts: Mapping[str, int], place: Place) -> Iterator[Part]:
    theirs = {
        name: owner
        for name in amounts
        for prefix, owner in _OWNERS.items()
        if name.startswith(prefix)
    }
    for name, owner in theirs.items():
        yield NotOurs(source, {name: amounts[name]}, owner)
    ours = {name: amount for name, amount in amounts.items() if name not in theirs}
    if ours:
        yield on_one_of(source, ours, place.having(ours))
