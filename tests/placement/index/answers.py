# SPDX-License-Identifier: Apache-2.0
"""Answers in a form that tests can compare."""

from collections import Counter
from typing import Any

from trueup.model.candidates import Candidates


def choices(found: Candidates) -> list[tuple[str, ...]]:
    """The provider of each slot, for each candidate, in the order of the answer."""
    columns = found.columns(0, found.count)
    rows = list(zip(*columns.uuids, strict=True))
    patterns = [pattern for pattern, count in columns.patterns for _ in range(count)]
    assert patterns == [tuple(map(row.index, row)) for row in rows]
    made = dict(zip(columns.indexes, rows, strict=True))
    return [made[index] for index in range(found.count)]


def candidates(found: Candidates) -> list[tuple]:
    """Amounts by provider and class, and the providers of each group."""
    answers = []
    for choice in choices(found):
        amounts: Counter[tuple[str, str]] = Counter()
        mappings: dict[str, set[str]] = {}
        for uuid, (suffix, resources) in zip(choice, found.request_slots, strict=True):
            mappings.setdefault(suffix, set()).add(uuid)
            for name, amount in resources:
                amounts[uuid, name] += amount
        satisfied = frozenset((suffix, frozenset(names)) for suffix, names in mappings.items())
        answers.append((frozenset(amounts.items()), satisfied))
    return answers


def spelled(found: Candidates) -> list[str]:
    """Candidates in one line each, sorted: `disk:DISK_GB=5 host:VCPU=1`."""
    return sorted(
        " ".join(f"{provider}:{name}={amount}" for (provider, name), amount in sorted(amounts))
        for amounts, _ in candidates(found)
    )


def summaries(found: Candidates) -> dict[str, dict[str, Any]]:
    """The summary of each provider, by its UUID."""
    every = range(len(found.summaries.revisions))
    shown = {}
    for columns in found.summaries.columns(every):
        for number, uuid in enumerate(columns.uuids):
            shown[uuid] = {
                "root": columns.root_uuids[number],
                "parent": columns.parent_uuids[number],
                "traits": columns.traits[number],
                "resources": {
                    inventory.name: (inventory.capacities[number], inventory.used[number])
                    for inventory in columns.inventories
                },
            }
    assert len(shown) == len(every)
    return shown
