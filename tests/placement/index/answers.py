# SPDX-License-Identifier: Apache-2.0
"""Answers in a form that tests can compare."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from trueup.model.candidates import Candidates, Summaries


def candidates(found: Candidates) -> list[tuple]:
    """Amounts by provider and class, and who satisfied which group."""
    answers = []
    for choice in found.choices:
        amounts: Counter[tuple[str, str]] = Counter()
        mappings: dict[str, set[str]] = {}
        for place, (suffix, resources) in zip(choice, found.parts, strict=True):
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
    """What is said of each provider, by its UUID."""
    said = {}

    def tell(some: Summaries) -> Iterator[bytes]:
        for number, uuid in enumerate(some.uuids):
            held = {one.name: (one.capacities[number], one.used[number]) for one in some.stocks}
            said[uuid] = {
                "root": some.root_uuids[number],
                "parent": some.parent_uuids[number],
                "traits": some.traits[number],
                "resources": held,
            }
            yield uuid.encode()

    assert sorted(found.summarized.told(tell, kept=False)) == sorted(map(str.encode, said))
    return said
