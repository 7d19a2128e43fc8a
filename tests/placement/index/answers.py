# SPDX-License-Identifier: Apache-2.0
"""Answers in a form that tests can compare."""

from collections import Counter
from typing import Any

from trueup.model.candidates import Candidates


def candidates(found: Candidates) -> list[tuple]:
    """Amounts by provider and class, and who satisfied which group."""
    answers = []
    for choice in found.allocation_requests:
        amounts: Counter[tuple[str, str]] = Counter()
        mappings: dict[str, set[str]] = {}
        for place, (suffix, resources) in zip(choice, found.request_slots, strict=True):
            mappings.setdefault(suffix, set()).add(found.uuids[place])
            for name, amount in resources:
                amounts[found.uuids[place], name] += amount
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
    """What the answer says of each provider, by its UUID."""
    every = range(len(found.summaries.revisions))
    shown = {}
    for columns in found.summaries.columns(every):
        for number, uuid in enumerate(columns.uuids):
            shown[uuid] = {
                "root": columns.root_uuids[number],
                "parent": columns.parent_uuids[number],
                "traits": columns.traits[number],
                "resources": {
                    one.name: (one.capacities[number], one.used[number])
                    for one in columns.inventories
                },
            }
    assert len(shown) == len(every)
    return shown
