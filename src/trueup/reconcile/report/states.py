# SPDX-License-Identifier: Apache-2.0
"""States of targets in words, by label, as a plan shows them before and after a change."""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256

import msgspec

from trueup.reconcile.facts import Allocations
from trueup.reconcile.steps import (
    Aggregates,
    Change,
    DomainText,
    Held,
    Inventories,
    InventoryFields,
    Profile,
    ProviderContents,
    State,
    Step,
    Traits,
    TreeContents,
    held_in,
)
from trueup.reconcile.verdicts import plain_words

Words = dict[str, str]
# Enough of a digest to see whether two definitions differ.
_DIGITS = 12


def before_and_after(step: Step, names: Mapping[str, str]) -> tuple[Words, Words]:
    """The states that a step changes, before and after; `names` are providers' names by uuid."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for change in step.changes:
        before |= state_in_words(change.before, names)
        after |= state_in_words(change.after, names)
        for label, was, becomes in _new_owners(change):
            before[label], after[label] = was, becomes
    return before, after


def _new_owners(change: Change) -> Iterator[tuple[str, str, str]]:
    """The projects and users of consumers that a change replaces, each with its label."""
    befores, afters = held_in(change.before), held_in(change.after)
    for consumer in sorted(befores.keys() & afters.keys()):
        before, after = befores[consumer], afters[consumer]
        if before is None or after is None:
            continue
        of = f"{consumer} " if len(afters) > 1 else ""
        if before.project != after.project:
            yield f"{of}project", before.project, after.project
        if before.user != after.user:
            yield f"{of}user", before.user, after.user


def state_in_words(state: State | None, names: Mapping[str, str]) -> Words:
    """The parts of a state, by label; empty for a target that does not exist."""
    match state:
        case None:
            return {}
        case Held(by_consumer):
            return _held(by_consumer, names)
        case TreeContents(inventories, by_consumer):
            rows = {
                f"{names.get(provider, provider)} {name}": _inventory(row)
                for provider, found in sorted(inventories.items())
                for name, row in sorted(found.items())
            }
            return rows | _held(by_consumer, names)
        case Inventories(by_class):
            return {name: _inventory(row) for name, row in sorted(by_class.items())}
        case Traits(listed):
            return {"traits": " ".join(listed)}
        case Aggregates(uuids):
            return {"aggregates": " ".join(uuids)}
        case ProviderContents(name, parent, _, traits, aggregates):
            return {
                "provider": name,
                "parent": names.get(parent, parent) if parent else "none",
                "traits": " ".join(traits),
                "aggregates": " ".join(aggregates),
            } | {kind: _values(row) for kind, row in sorted(state.inventories.items())}
        case DomainText(xml):
            # The text is too long for a table; the plan file has it.
            named = re.findall("<name>(.*?)</name>", xml)
            digest = sha256(xml.encode()).hexdigest()
            return {"domain": "".join(named[:1]), "definition": digest[:_DIGITS]}
        case Profile(content):
            return {str(name): str(value) for name, value in sorted(content.items())}
    fields = msgspec.structs.asdict(state)
    return {label.replace("_", " "): str(value) for label, value in fields.items()}


def _held(by_consumer: Mapping[str, Allocations | None], names: Mapping[str, str]) -> Words:
    several = len(by_consumer) > 1
    return {
        f"{consumer} on {names.get(uuid, uuid)}" if several else names.get(uuid, uuid): plain_words(
            amounts
        )
        for consumer, held in sorted(by_consumer.items())
        for uuid, amounts in sorted(held.amounts.items() if held else ())
    }


def _inventory(row: InventoryFields) -> str:
    return _values(msgspec.structs.asdict(row))


def _values(row: Mapping[str, object]) -> str:
    return " ".join(f"{label}={value}" for label, value in row.items())
