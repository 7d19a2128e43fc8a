# SPDX-License-Identifier: Apache-2.0
"""The provider of a host that gives an amount, as far as the inventories determine it.

Nova does not store which provider Placement chose. On most hosts only one provider has each class.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from trueup.reconcile.expected.groups import UNSUFFIXED, Group
from trueup.reconcile.expected.parts import Ambiguous, ExpectedPart, Known, NotOurs
from trueup.reconcile.facts import Facts, Provider, grouped

# Resource classes that another service creates and allocates: prefix → service.
_OWNERS = {"CUSTOM_RESERVATION_": "Blazar"}


@dataclass(frozen=True, slots=True)
class HostProviders:
    """The providers of a host: its tree, and the sharing providers of the tree."""

    root: str
    tree: tuple[Provider, ...]
    # resource class → the uuids of the providers that have it: of the tree, then the sharing ones
    by_class: Mapping[str, tuple[str, ...]]
    # resource class → the only provider that has it; without classes of other services
    sole: Mapping[str, str]
    # Whether CPU policies request PCPU here. On a host that has only VCPU, the scheduler requests
    # VCPU instead.
    pinning: bool

    def having(self, name: str) -> tuple[str, ...]:
        """The providers that have this class: those of the tree, then the sharing ones."""
        return self.by_class.get(name, ())

    def having_all(self, names: Iterable[str]) -> tuple[str, ...]:
        """The providers that have all of these classes; at least one class is needed."""
        first, *others = map(self.having, names)
        return tuple(uuid for uuid in first if all(uuid in other for other in others))


def host_providers_of(root: str, facts: Facts) -> HostProviders:
    """The providers of the host with this root provider.

    PERF: made once for each host, not once for each of its instances.
    """
    known = facts.once(_host_providers)
    if root not in known:
        known[root] = _read_of_host(root, facts)
    return known[root]


def _host_providers(_: Facts) -> dict[str, HostProviders]:
    """The providers of the hosts that were already read, by root."""
    return {}


def _read_of_host(root: str, facts: Facts) -> HostProviders:
    tree = facts.trees.get(root, ())
    every = (*tree, *facts.sharing_with.get(root, ()))
    by_class = grouped((name, row.uuid) for row in every for name in row.inventories)
    sole = {
        name: uuids[0] for name, uuids in by_class.items() if len(uuids) == 1 and not _owner(name)
    }
    used = {row.uuid: facts.used[row.uuid] for row in tree if row.uuid in facts.used}
    return HostProviders(
        root=root,
        tree=tree,
        by_class=by_class,
        sole=sole,
        # SAFETY: Placement refuses to delete an inventory in use. So if PCPU is held and no
        # provider has it, the inventory's row is lost, and the PCPU is held rightly.
        pinning="PCPU" in by_class
        or "VCPU" not in by_class
        or any("PCPU" in row for row in used.values()),
    )


def parts_of(groups: Iterable[Group], host: HostProviders, source: str) -> list[ExpectedPart]:
    """The parts of each group; in the group without a suffix, each class is a part."""
    parts: list[ExpectedPart] = []
    for group in groups:
        if group.suffix != UNSUFFIXED:
            parts += _of_one(f"{source}, group {group.suffix}", group.amounts, host)
        elif len(only := set(map(host.sole.get, group.amounts))) == 1 and (uuid := only.pop()):
            # PERF: on most hosts one provider has all classes that flavors request.
            parts.append(Known(source, group.amounts, uuid))
        else:
            parts += _of_several(source, group.amounts, host)
    return parts


def on_one_of(source: str, amounts: Mapping[str, int], providers: tuple[str, ...]) -> ExpectedPart:
    """Known if only one of the providers is possible, else Ambiguous."""
    if len(providers) == 1:
        return Known(source, amounts, providers[0])
    return Ambiguous(source, amounts, providers)


def _of_several(
    source: str, amounts: Mapping[str, int], host: HostProviders
) -> Iterator[ExpectedPart]:
    """The open parts, then one part for each provider with all its known amounts."""
    known: dict[str, dict[str, int]] = {}
    for name, amount in amounts.items():
        providers = host.having(name)
        if owner := _owner(name):
            yield NotOurs(source, {name: amount}, owner)
        elif len(providers) == 1:
            known.setdefault(providers[0], {})[name] = amount
        else:
            yield Ambiguous(source, {name: amount}, providers)
    for provider, row in known.items():
        yield Known(source, row, provider)


def _of_one(source: str, amounts: Mapping[str, int], host: HostProviders) -> Iterator[ExpectedPart]:
    """The parts of other services, then one part with all other amounts."""
    theirs = {name: owner for name in amounts if (owner := _owner(name))}
    for name, owner in theirs.items():
        yield NotOurs(source, {name: amounts[name]}, owner)
    ours = {name: amount for name, amount in amounts.items() if name not in theirs}
    if ours:
        yield on_one_of(source, ours, host.having_all(ours))


@cache
def _owner(name: str) -> str | None:
    """The service that creates and allocates a resource class, if that is not Nova."""
    for prefix, owner in _OWNERS.items():
        if name.startswith(prefix):
            return owner
    return None
