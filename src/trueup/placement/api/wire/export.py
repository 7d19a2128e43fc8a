# SPDX-License-Identifier: Apache-2.0
"""The lines of the export: a head, one for each provider and consumer, an end with their counts.

Lines before the end show usage that no consumer explains. Readers skip unknown lines. Not part of
upstream's API, and the same at every microversion.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from trueup.placement.store.reads.export import ConsumerRecord, ProviderRecord

LINES = "application/x-ndjson"
FORM = 1
"""The format version of the lines; readers refuse another one."""


def head() -> bytes:
    """The first line."""
    return _line({"trueup_export": FORM})


def provider(row: ProviderRecord) -> bytes:
    """A line of a provider."""
    known = row.provider
    body = {
        "uuid": known.uuid,
        "name": known.name,
        "generation": known.generation,
        "root_provider_uuid": known.root_uuid,
        "parent_provider_uuid": known.parent_uuid,
        "inventories": row.inventories,
        "traits": row.traits,
        "aggregates": row.aggregates,
    }
    return _line({"provider": body})


def consumer(row: ConsumerRecord) -> bytes:
    """A line of a consumer."""
    known = row.consumer
    body = {
        "uuid": known.uuid,
        "consumer_generation": known.generation,
        "project_id": known.project_id,
        "user_id": known.user_id,
        "consumer_type": known.consumer_type,
        "allocations": row.allocations,
    }
    return _line({"consumer": body})


def unlisted(provider_uuid: str, resource_class: str, amount: int) -> bytes:
    """A line of usage that the consumers of the export do not explain."""
    body = {"provider": provider_uuid, "resource_class": resource_class, "amount": amount}
    return _line({"unlisted": body})


def end(providers: int, consumers: int) -> bytes:
    """The last line; without it the export is truncated."""
    return _line({"end": {"providers": providers, "consumers": consumers}})


def blocks(lines: Iterator[bytes], count: int) -> Iterator[bytes]:
    """Blocks of `count` lines each. PERF: sending a small block takes longer than making it."""
    block: list[bytes] = []
    for line in lines:
        block.append(line)
        if len(block) >= count:
            yield b"".join(block)
            block = []
    if block:
        yield b"".join(block)


def _line(body: dict[str, Any]) -> bytes:
    return orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)
