# SPDX-License-Identifier: Apache-2.0
"""/trueup/export: the whole ledger as of one moment, for audits. Upstream has no such route."""

from collections import Counter
from collections.abc import Iterator

from trueup.placement.api.http import Answer, Request
from trueup.placement.api.wire import export as wire
from trueup.placement.store.engine.database import Database
from trueup.placement.store.reads import export

_LINES_IN_BLOCK = 500


def get_export(request: Request) -> Answer:
    """GET /trueup/export"""
    blocks = wire.blocks(_lines(request.database), _LINES_IN_BLOCK)
    # A database that is away must be reported before the answer begins.
    first = next(blocks)
    return Answer(lines=_begun(first, blocks), media_type=wire.LINES)


def _begun(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """A generator, so that a server that closes it ends the snapshot too."""
    yield first
    yield from rest


def _lines(database: Database) -> Iterator[bytes]:
    with database.reading(snapshot=True) as tx:
        classes = export.class_names(tx)
        yield wire.head()
        uuids: dict[int, str] = {}
        consumers = 0
        held: Counter[tuple[str, str]] = Counter()
        for record in export.all_providers(tx, classes):
            uuids[record.provider.id] = record.provider.uuid
            yield wire.provider(record)
        for consumer in export.all_consumers(tx, classes, uuids):
            consumers += 1
            for uuid, amounts in consumer.allocations.items():
                held.update({(uuid, name): amount for name, amount in amounts.items()})
            yield wire.consumer(consumer)
        for (uuid, name), amount in sorted(export.used(tx, classes, uuids).items()):
            if amount > held[uuid, name]:
                yield wire.unlisted(uuid, name, amount - held[uuid, name])
        yield wire.end(len(uuids), consumers)
