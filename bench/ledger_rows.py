# SPDX-License-Identifier: Apache-2.0
"""Ledger rows as the index reads them, without a database, for measuring the search alone.

Besides those of `bench.cloud` there are two shapes:

wide        a host with VCPU, MEMORY_MB, DISK_GB, and devices below it with one PGPU each
multishare  a host with VCPU and MEMORY_MB; all share ten stores of DISK_GB and ten of IPV4_ADDRESS
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from bench.cloud import Cloud
from trueup.placement.store.reads.ledger_rows import InventoryRow, LedgerRows, Names, ProviderRow

_CLASSES = {"VCPU": 0, "MEMORY_MB": 1, "DISK_GB": 2, "PGPU": 3, "IPV4_ADDRESS": 4}
_TRAITS = {"MISC_SHARES_VIA_AGGREGATE": 1}
_EVERYBODY = "00000000-0000-4000-8000-000000000000"
_HOST = {"VCPU": 256, "MEMORY_MB": 262144}


def rows_of(cloud: Cloud) -> LedgerRows:
    """The ledger rows of a generated cloud."""
    rows = cloud.rows
    used: Counter[tuple[int, int]] = Counter()
    for _, provider, _, kind, amount in rows["allocations"]:
        used[provider, kind] += amount
    having: dict[int, list[int]] = defaultdict(list)
    for provider, trait in rows["resource_provider_traits"]:
        having[provider].append(trait)
    kinds: dict[tuple[int, ...], tuple[int, ...]] = {}
    sets = {provider: tuple(sorted(traits)) for provider, traits in having.items()}
    return LedgerRows(
        names=Names(
            {name: key for key, name in rows["resource_classes"]},
            {name: key for key, name in rows["traits"]},
        ),
        providers=[
            ProviderRow(key, uuid, root, parent, generation)
            for key, uuid, _, generation, root, parent in rows["resource_providers"]
        ],
        inventories=[
            InventoryRow(provider, kind, total, reserved, ratio, least, most, step)
            for _, provider, kind, total, reserved, least, most, step, ratio in rows["inventories"]
        ],
        used=[(*place, amount) for place, amount in used.items()],
        trait_sets={provider: kinds.setdefault(kind, kind) for provider, kind in sets.items()},
        aggregate_pairs=rows["resource_provider_aggregates"],
        aggregate_uuids=dict(rows["placement_aggregates"]),
    )


def wide(hosts: int, devices: int) -> LedgerRows:
    """Hosts, each with that many devices."""
    draft = _Draft()
    for _ in range(hosts):
        host = draft.add({**_HOST, "DISK_GB": 4000})
        for _ in range(devices):
            draft.add({"PGPU": 1}, parent=host)
    return draft.rows()


def multishare(hosts: int, stores: int = 10) -> LedgerRows:
    """Hosts that use shared storage pools and address pools."""
    draft = _Draft()
    sharing = [draft.add({"DISK_GB": 2000000}, shares=True) for _ in range(stores)]
    sharing += [draft.add({"IPV4_ADDRESS": 65000}, shares=True) for _ in range(stores)]
    members = sharing + [draft.add(_HOST) for _ in range(hosts)]
    return draft.rows(members)


class _Draft:
    def __init__(self) -> None:
        self._providers: list[ProviderRow] = []
        self._inventories: list[InventoryRow] = []
        self._sharing: list[int] = []

    def add(self, totals: dict[str, int], parent: int | None = None, shares: bool = False) -> int:
        key = len(self._providers) + 1
        uuid = f"{key:08x}-0000-4000-8000-{key:012x}"
        # No deeper than a child of a root.
        self._providers.append(ProviderRow(key, uuid, parent or key, parent))
        for name, total in totals.items():
            self._inventories.append(InventoryRow(key, _CLASSES[name], total, 0, 1.0, 1, total, 1))
        if shares:
            self._sharing.append(key)
        return key

    def rows(self, members: Iterable[int] = ()) -> LedgerRows:
        kind: Sequence[int] = tuple(_TRAITS.values())
        return LedgerRows(
            names=Names(_CLASSES, _TRAITS),
            providers=self._providers,
            inventories=self._inventories,
            trait_sets=dict.fromkeys(self._sharing, tuple(kind)),
            aggregate_pairs=[(member, 1) for member in members],
            aggregate_uuids={1: _EVERYBODY},
        )
