# SPDX-License-Identifier: Apache-2.0
"""Capacity of each provider, split: what is held rightly, what is phantom, what is missing. Pure.

Placement counts what is held. Findings say how much of it nobody uses (phantom), and how much is
used and not held (missing). What is held by consumers that were not judged is undecided.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.audit import Audit
from trueup.reconcile.facts import Facts
from trueup.reconcile.report.effects import FindingEffect
from trueup.reconcile.verdicts import CONSUMERS, Finding, in_order

# resource class → amount, by provider uuid
_ByProvider = defaultdict[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class CapacitySplit:
    """One resource class of one or several providers.

    `right`, `undecided` and `phantom` together are what is held. `missing` is used and not held.
    """

    resource_class: str
    capacity: int
    right: int
    undecided: int = 0
    phantom: int = 0
    missing: int = 0

    @property
    def held(self) -> int:
        """What Placement counts as used."""
        return self.right + self.undecided + self.phantom

    @property
    def plain(self) -> bool:
        """Whether all that is held is held rightly, and nothing is missing."""
        return not (self.undecided or self.phantom or self.missing)

    def percent(self, amount: int) -> float:
        """An amount as a share of the capacity, or of all that is claimed if that is more."""
        whole = max(self.capacity, self.held + self.missing)
        return round(100 * amount / whole, 1) if whole else 0.0

    @property
    def percent_held(self) -> str:
        """How much of the capacity is held, in words; the little of a large host is not 0 %."""
        share = self.percent(self.held)
        return "<1%" if self.held and share < 1 else f"{share:.0f}%"


def capacity_splits(
    facts: Facts, audit: Audit, effects: Mapping[str, FindingEffect]
) -> dict[str, tuple[CapacitySplit, ...]]:
    """The split of each provider whose consumers were all read, by its uuid.

    `effects` are of all findings of the audit, muted ones too, by the id of the finding.
    """
    phantom, missing = _by_sign(effects, 1), _by_sign(effects, -1)
    undecided = _held_by(_undecided(facts, audit, effects), facts)
    return {
        uuid: tuple(
            _of_provider(uuid, facts, _Parts(phantom[uuid], missing[uuid], undecided[uuid]))
        )
        for uuid in facts.providers
        if facts.judges(uuid)
    }


def summed(splits: Iterable[CapacitySplit]) -> tuple[CapacitySplit, ...]:
    """One split for each resource class, with the sums."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for split in splits:
        totals[split.resource_class].update(
            capacity=split.capacity,
            right=split.right,
            undecided=split.undecided,
            phantom=split.phantom,
            missing=split.missing,
        )
    return tuple(CapacitySplit(name, **totals[name]) for name in in_order(dict.fromkeys(totals, 0)))


@dataclass(frozen=True, slots=True)
class _Parts:
    """The wrong and undecided amounts of one provider, by resource class."""

    phantom: Counter[str]
    missing: Counter[str]
    undecided: Counter[str]


def _of_provider(uuid: str, facts: Facts, parts: _Parts) -> Iterator[CapacitySplit]:
    inventories, used = facts.providers[uuid].inventories, facts.used.get(uuid, {})
    for name in in_order(dict.fromkeys([*inventories, *used, *parts.missing], 0)):
        held = used.get(name, 0)
        phantom = min(held, parts.phantom[name])
        open_part = min(held - phantom, parts.undecided[name])
        yield CapacitySplit(
            name,
            capacity=inventories[name].capacity if name in inventories else 0,
            right=held - phantom - open_part,
            undecided=open_part,
            phantom=phantom,
            missing=parts.missing[name],
        )


def _by_sign(effects: Mapping[str, FindingEffect], sign: int) -> _ByProvider:
    """How much Placement counts too much (1) or too little (-1) of each provider.

    What one finding has too much does not make up for what another has too little.
    """
    found: _ByProvider = defaultdict(Counter)
    for count in (row for effect in effects.values() for row in effect.capacity):
        found[count.uuid].update(
            {name: sign * n for name, n in count.resources.items() if sign * n > 0}
        )
    return found


def _held_by(consumers: Iterable[str], facts: Facts) -> _ByProvider:
    total: _ByProvider = defaultdict(Counter)
    for consumer in consumers:
        for uuid, held in facts.consumers.get(consumer, {}).items():
            total[uuid].update(held)
    return total


def _undecided(facts: Facts, audit: Audit, effects: Mapping[str, FindingEffect]) -> frozenset[str]:
    """The consumers whose allocations were not judged."""
    named = {row.subject.uuid for row in audit.unchecked if row.subject.kind in CONSUMERS}
    hosts = {row.subject.uuid for row in audit.unchecked if row.subject.kind == "host"}
    if hosts:
        named |= {uuid for uuid, row in facts.alive.items() if row.host in hosts}
    for finding in audit.every_finding:
        if effects[finding.id].declined:
            named |= _consumers_of(finding)
    if not audit.coverage.complete:
        # SAFETY: a cell that is silent may have them.
        known = facts.alive.keys() | facts.deleted.keys() | facts.builds
        known |= {row.uuid for row in facts.migrations}
        named |= facts.consumers.keys() - known
    moves = {row.uuid for uuid in named for row in facts.migrations_of.get(uuid, ())}
    return frozenset(named | moves)


def _consumers_of(finding: Finding) -> frozenset[str]:
    own = {finding.subject.uuid} if finding.subject.kind in CONSUMERS else set()
    return frozenset(own | set(finding.consumers))
