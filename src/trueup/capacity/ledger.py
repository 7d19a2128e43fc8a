# SPDX-License-Identifier: Apache-2.0
"""The ledger of facts as the view that a search reads, in the order of the facts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from trueup.model.names import SHARING_TRAIT
from trueup.model.requests import CandidateRequest
from trueup.placement.index.view.build import build
from trueup.placement.index.view.columns import View
from trueup.placement.store.reads.ledger_rows import InventoryRow, LedgerRows, Names, ProviderRow
from trueup.reconcile.facts import Facts, Provider


def view_of(facts: Facts, requests: Iterable[CandidateRequest]) -> View:
    """The view of a ledger. What the requests name exists in it, and perhaps no provider has it."""
    ids = {uuid: number for number, uuid in enumerate(facts.providers, 1)}
    names = _names(facts.providers.values(), requests)
    pools = {row.uuid: number for number, row in enumerate(facts.sharing, 1)}
    pairs, aggregates = _members(facts, ids, pools)
    return build(
        LedgerRows(
            names=names,
            providers=[_provider(row, ids) for row in facts.providers.values()],
            inventories=[
                row for provider in facts.providers.values() for row in _stock(provider, ids, names)
            ],
            used=[
                (ids[uuid], names.class_ids[name], amount)
                for uuid, row in _used(facts).items()
                for name, amount in row.items()
                if uuid in ids and name in names.class_ids
            ],
            trait_sets=_trait_sets(facts.providers.values(), ids, names),
            aggregate_pairs=pairs,
            aggregate_uuids=aggregates,
        )
    )


def _names(providers: Iterable[Provider], requests: Iterable[CandidateRequest]) -> Names:
    classes: dict[str, None] = {}
    traits: dict[str, None] = {SHARING_TRAIT: None}
    for row in providers:
        classes.update(dict.fromkeys(row.inventories))
    known = {row.traits for row in providers if row.traits}
    traits.update(dict.fromkeys(sorted(frozenset().union(*known))))
    for request in requests:
        classes.update(dict.fromkeys(sorted(request.resource_classes)))
        traits.update(dict.fromkeys(sorted(traits_of(request))))
    return Names(*({name: n for n, name in enumerate(each, 1)} for each in (classes, traits)))


def traits_of(request: CandidateRequest) -> frozenset[str]:
    """Every trait that a request names."""
    named = [request.root_required, request.root_forbidden]
    for group in request.groups:
        named += [group.forbidden, *group.required]
    return frozenset().union(*named)


def _provider(row: Provider, ids: Mapping[str, int]) -> ProviderRow:
    own = ids[row.uuid]
    return ProviderRow(own, row.uuid, ids.get(row.root, own), ids.get(row.parent or ""))


def _stock(row: Provider, ids: Mapping[str, int], names: Names) -> Iterable[InventoryRow]:
    for name, stock in row.inventories.items():
        yield InventoryRow(
            ids[row.uuid], names.class_ids[name],
            stock.total, stock.reserved, stock.allocation_ratio,
            # A row that was written by hand may have a step of 0.
            stock.min_unit, stock.max_unit, max(stock.step_size, 1),
        )  # fmt: skip


def _used(facts: Facts) -> Mapping[str, Mapping[str, int]]:
    """What Placement counts as used, also what it does not list: allocations without a consumer."""
    unlisted = [row for row in facts.ledger_faults if row.kind == "consumerless"]
    if not unlisted:
        return facts.used
    total: dict[str, dict[str, int]] = {uuid: {**row} for uuid, row in facts.used.items()}
    for fault in unlisted:
        of_provider = total.setdefault(fault.subject, {})
        of_provider[fault.resource_class] = of_provider.get(fault.resource_class, 0) + fault.amount
    return total


def _trait_sets(
    providers: Iterable[Provider], ids: Mapping[str, int], names: Names
) -> dict[int, tuple[int, ...]]:
    # PERF: thousands of hosts have the same set of traits; each is translated once.
    known: dict[tuple[frozenset[str], bool], tuple[int, ...]] = {}
    sets = {}
    for row in providers:
        key = (row.traits or frozenset(), row.sharing)
        if key not in known:
            having = key[0] - {SHARING_TRAIT} | ({SHARING_TRAIT} if row.sharing else frozenset())
            known[key] = tuple(sorted(names.trait_ids[name] for name in having))
        if known[key]:
            sets[ids[row.uuid]] = known[key]
    return sets


def _members(
    facts: Facts, ids: Mapping[str, int], pools: Mapping[str, int]
) -> tuple[list[tuple[int, int]], dict[int, str]]:
    """The members of all aggregates, and of one more for each pool: the trees it shares with.

    Over the API not all aggregates are read, and `shares_with` is always known.
    """
    members: dict[str, list[int]] = defaultdict(list)
    for row in facts.providers.values():
        for uuid in row.aggregates or ():
            members[uuid].append(ids[row.uuid])
    for uuid in pools:
        # No aggregate has the uuid of a provider.
        shares_with = facts.providers[uuid].shares_with
        members[f"of {uuid}"] = [
            ids[uuid],
            *(ids[tree] for tree in sorted(shares_with & ids.keys())),
        ]
    numbers = {uuid: number for number, uuid in enumerate(members, 1)}
    pairs = [(member, numbers[uuid]) for uuid, having in members.items() for member in having]
    return pairs, {number: uuid for uuid, number in numbers.items()}
