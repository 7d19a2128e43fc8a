# SPDX-License-Identifier: Apache-2.0
"""From which provider of a host an amount comes, as far as the inventories determine it.

Nova does not store which provider Placement chose; but on most hosts only one has each class.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.expected.groups import UNSUFFIXED, Group
from trueup.reconcile.expected.parts import Ambiguous, ExpectedPart, Known, NotOurs
from trueup.reconcile.facts import Facts, Provider

# Classes that another service creates and allocates by itself: prefix → service.
_OWNERS = {"CUSTOM_RESERVATION_": "Blazar"}


@dataclass(frozen=True, slots=True)
class HostProviders:
    """The providers of a host: its tree, and those that share with the tree by an aggregate."""

    root: str
    tree: tuple[Provider, ...]
    sharing_providers: tuple[Provider, ...]

    def having(self, names: Iterable[str]) -> tuple[str, ...]:
        """The providers of the tree, then the sharing ones, that have all these classes."""
        wanted = set(names)
        return tuple(
            provider.uuid
            for provider in (*self.tree, *self.sharing_providers)
            if wanted <= provider.inventories.keys()
        )


def host_providers_of(root: str, facts: Facts) -> HostProviders:
    """The providers of the host with this root provider."""
    return HostProviders(
        root,
        facts.trees.get(root, ()),
        tuple(row for row in facts.sharing if root in row.shares_with and row.root != root),
    )


def parts_of(groups: Iterable[Group], host: HostProviders, source: str) -> Iterator[ExpectedPart]:
    """Each group on its provider; in the group without a suffix, each class on its own."""
    for group in groups:
        if group.suffix == UNSUFFIXED:
            alone = ({name: amount} for name, amount in group.amounts.items())
            yield from _joined(part for one in alone for part in _judged(source, one, host))
        else:
            yield from _judged(f"{source}, group {group.suffix}", group.amounts, host)


def on_one_of(source: str, amounts: Mapping[str, int], providers: tuple[str, ...]) -> ExpectedPart:
    """Known if there is only one provider to choose from."""
    if len(providers) == 1:
        return Known(source, amounts, providers[0])
    return Ambiguous(source, amounts, providers)


def _joined(parts: Iterable[ExpectedPart]) -> Iterator[ExpectedPart]:
    """The open parts, then one part for each provider with everything known of it."""
    known: dict[str, Known] = {}
    for part in parts:
        if isinstance(part, Known):
            before = known.get(part.provider)
            amounts = {**(before.amounts if before else {}), **part.amounts}
            known[part.provider] = Known(part.source, amounts, part.provider)
        else:
            yield part
    yield from known.values()


def _judged(source: str, amounts: Mapping[str, int], host: HostProviders) -> Iterator[ExpectedPart]:
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
        yield on_one_of(source, ours, host.having(ours))
