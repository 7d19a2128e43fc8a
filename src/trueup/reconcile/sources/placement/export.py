# SPDX-License-Identifier: Apache-2.0
"""Reads the ledger from `GET /trueup/export` of Trueup's own service, as of one moment."""

from collections.abc import Iterable, Mapping

import msgspec

from trueup.reconcile.facts import Inventory, LedgerFault, Owner, Provider
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.placement.contract import SHARING_TRAIT, Ledger
from trueup.reconcile.sources.placement.rows import owner_of
from trueup.reconcile.sources.placement.sharing import members_of_sharing, with_sharing
from trueup.reconcile.sources.placement.usages import UNLISTED

EXPORT = "/trueup/export"
FORM = 1
EXPORTED = "export"


class _Inventory(msgspec.Struct):
    total: int
    reserved: int
    allocation_ratio: float
    min_unit: int
    max_unit: int
    step_size: int


class _Provider(msgspec.Struct):
    uuid: str
    name: str | None
    generation: int | None
    root_provider_uuid: str
    parent_provider_uuid: str | None
    inventories: dict[str, _Inventory]
    traits: list[str]
    # An aggregate's uuid may be NULL in the database.
    aggregates: list[str | None]


class _Consumer(msgspec.Struct):
    uuid: str
    project_id: str | None
    user_id: str | None
    allocations: dict[str, dict[str, int]]


class _Unlisted(msgspec.Struct):
    """Usage of a class beyond the allocations of the export's consumers."""

    provider: str
    resource_class: str
    amount: int


class _End(msgspec.Struct):
    providers: int
    consumers: int


class _Line(msgspec.Struct):
    """Exactly one field is set; in lines that only a newer service writes, none is set."""

    trueup_export: int | None = None
    provider: _Provider | None = None
    consumer: _Consumer | None = None
    unlisted: _Unlisted | None = None
    end: _End | None = None


def read(lines: Iterable[bytes]) -> Ledger:
    """The ledger in these lines. Raises Unreachable if they are incomplete or not an export."""
    decoder = msgspec.json.Decoder(_Line)
    rows: dict[str, _Provider] = {}
    consumers: dict[str, Mapping[str, Mapping[str, int]]] = {}
    owners: dict[str, Owner] = {}
    faults: list[LedgerFault] = []
    end = None
    try:
        for line in lines:
            found = decoder.decode(line)
            if found.consumer is not None:
                consumers[found.consumer.uuid] = found.consumer.allocations
                owners[found.consumer.uuid] = owner_of(
                    found.consumer.project_id, found.consumer.user_id
                )
            elif found.provider is not None:
                rows[found.provider.uuid] = found.provider
            elif found.unlisted is not None:
                faults.append(_fault(found.unlisted))
            elif found.trueup_export not in (None, FORM):
                raise Unreachable("Placement", f"its export has form {found.trueup_export}")
            else:
                end = found.end
    except msgspec.MsgspecError as error:
        raise Unreachable("Placement", f"its export is not one: {error}") from error
    if end is None or (end.providers, end.consumers) != (len(rows), len(consumers)):
        raise Unreachable("Placement", "its export ended early")
    return Ledger(_providers(rows), consumers, EXPORTED, tuple(faults), owners)


def _fault(row: _Unlisted) -> LedgerFault:
    return LedgerFault("consumerless", row.provider, UNLISTED, row.resource_class, row.amount)


def _providers(rows: Mapping[str, _Provider]) -> dict[str, Provider]:
    sharing = [uuid for uuid, row in rows.items() if SHARING_TRAIT in row.traits]
    providers = {uuid: _provider(row) for uuid, row in rows.items()}
    aggregates = {uuid: row.aggregates or frozenset() for uuid, row in providers.items()}
    return with_sharing(providers.values(), members_of_sharing(sharing, aggregates))


def _provider(row: _Provider) -> Provider:
    return Provider(
        uuid=row.uuid,
        name=row.name or "",
        generation=row.generation or 0,
        root=row.root_provider_uuid,
        parent=row.parent_provider_uuid,
        inventories={
            name: Inventory(**msgspec.structs.asdict(inventory))
            for name, inventory in row.inventories.items()
        },
        traits=frozenset(row.traits),
        aggregates=frozenset(uuid or "" for uuid in row.aggregates),
    )
