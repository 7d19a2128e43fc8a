# SPDX-License-Identifier: Apache-2.0
"""Small clouds in a few words, and their views."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trueup.model.candidates import Candidates
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.index.search.all_trees import GenerationOptions
from trueup.placement.index.search.candidates import find_candidates
from trueup.placement.index.view.build import build
from trueup.placement.index.view.columns import View
from trueup.placement.store.reads.ledger_rows import InventoryRow, LedgerRows, Names, ProviderRow

CLASSES = {"VCPU": 0, "MEMORY_MB": 1, "DISK_GB": 2, "SRIOV_NET_VF": 3, "PGPU": 4}
TRAITS = {"MISC_SHARES_VIA_AGGREGATE": 1, "FAST": 2, "SMALL": 3, "RED": 4}
SHARES = "MISC_SHARES_VIA_AGGREGATE"


@dataclass(frozen=True, slots=True)
class Host:
    """A provider; its name is its UUID. `used` is by class."""

    name: str
    totals: Mapping[str, int] = field(default_factory=dict)
    parent: str | None = None
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    used: Mapping[str, int] = field(default_factory=dict)
    max_unit: int = 1000
    step_size: int = 1


def view_of(hosts: Iterable[Host]) -> View:
    """The view of a cloud; parents come before their children."""
    hosts = tuple(hosts)
    ids = {host.name: number for number, host in enumerate(hosts, 1)}
    names = dict.fromkeys(uuid for host in hosts for uuid in host.aggregates)
    aggregates = {name: number for number, name in enumerate(names, 1)}
    roots: dict[str, int] = {}
    for host in hosts:
        roots[host.name] = roots[host.parent] if host.parent else ids[host.name]
    return build(
        LedgerRows(
            providers=[
                ProviderRow(ids[h.name], h.name, roots[h.name], ids[h.parent] if h.parent else None)
                for h in hosts
            ],
            inventories=[_stock(ids[h.name], h, name) for h in hosts for name in h.totals],
            used=[
                (ids[h.name], CLASSES[name], amount)
                for h in hosts
                for name, amount in h.used.items()
            ],
            names=Names(CLASSES, TRAITS),
            trait_sets={
                ids[h.name]: tuple(sorted(TRAITS[name] for name in h.traits))
                for h in hosts
                if h.traits
            },
            aggregate_pairs=[
                (ids[h.name], aggregates[uuid]) for h in hosts for uuid in h.aggregates
            ],
            aggregate_uuids={number: name for name, number in aggregates.items()},
        )
    )


def group(suffix: str = "", in_tree: str | None = None, **asked: object) -> RequestGroup:
    """group(VCPU=1, required="FAST RED|SMALL", forbidden="SMALL", member_of="a b|c")"""
    words = {name: str(asked.pop(name, "")).split() for name in _LISTS}
    return RequestGroup(
        suffix=suffix,
        resources=tuple(asked.items()),
        required=tuple(frozenset(word.split("|")) for word in words["required"]),
        forbidden=frozenset(words["forbidden"]),
        member_of=tuple(frozenset(word.split("|")) for word in words["member_of"]),
        forbidden_aggregates=frozenset(words["not_member_of"]),
        in_tree=in_tree,
    )


_LISTS = ("required", "forbidden", "member_of", "not_member_of")


def ask(
    hosts: Iterable[Host],
    *groups: RequestGroup,
    options: GenerationOptions | None = None,
    **wide: object,
) -> Candidates:
    """The answer of a small cloud."""
    request = CandidateRequest(groups=groups, **wide)
    return find_candidates(request, view_of(hosts), options or GenerationOptions())


def _stock(provider_id: int, host: Host, name: str) -> InventoryRow:
    return InventoryRow(
        provider_id,
        CLASSES[name],
        host.totals[name],
        0,
        1.0,
        1,
        host.max_unit,
        host.step_size,
    )
