# SPDX-License-Identifier: Apache-2.0
"""Which provider of a host gives an amount, as far as the inventories determine it.

Nova does not store which provider Placement chose. On most hosts only one provider has each class.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.expected.groups import UNSUFFIXED, Group
from trueup.reconcile.expected.parts import Ambiguous, ExpectedPart, Known, NotOurs
from trueup.reconcile.facts import Facts, Provider

# Resource classes that another service creates and allocates: prefix → service.
_OWNERS = {"CUSTOM_RESERVATION_": "Blazar"}


@dataclass(frozen=True, slots=True)
class HostProviders:
    """The providers of a host: its tree, and those that share with it through an aggregate."""

    root: str
    tree: tuple[Provider, ...]
    sharing_providers: tuple[Provider, ...]

    def having(self, names: Iterable[str]) -> tuple[str, ...]:
        """The providers that have all these classes: those of the tree, then the sharing ones."""
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
    """The parts of each group; in the group without a suffix, each class is a part."""
    for group in groups:
        if group.suffix == UNSUFFIXED:
            alone = ({name: amount} for name, amount in group.amounts.items())
            yield from _joined(part for one in alone for part in _judged(source, one, host))
        else:
            yield from _judged(f"{source}, group {group.suffix}", group.amounts, host)


def on_one_of(source: str, amounts: Mapping[str, int], providers: tuple[str, ...]) -> ExpectedPart:
    """Known if only one of the providers is possible, else Ambiguous."""
    if len(providers) == 1:
        return Known(source, amounts, providers[0])
    return Ambiguous(source, amounts, providers)


def _joined(parts: Iterable[ExpectedPart]) -> Iterator[ExpectedPart]:
    """The open parts, then one part for each provider with all its known amounts."""
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
