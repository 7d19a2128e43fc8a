# SPDX-License-Identifier: Apache-2.0
"""The holdings of each consumer in a rebuilt ledger, and why they differ from the old. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from trueup.reconcile.defects.missing_allocation import to_be_deleted
from trueup.reconcile.expected import Unknown, expected, open_reasons
from trueup.reconcile.facts import (
    Allocations,
    Amounts,
    Facts,
    Holding,
    Instance,
    InstanceRecord,
    canonical_uuid,
)
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.claims import (
    Claim,
    LostInMove,
    Missing,
    Moving,
    NotCertain,
    OnHost,
    claim_of,
)
from trueup.reconcile.rules.residence import contradiction
from trueup.reconcile.rules.should_hold import should_hold
from trueup.reconcile.verdicts import amounts_in_words

# The project and user of consumers with an unknown owner: upstream's own placeholder.
NOBODY = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One difference between the new and the old ledger, or one item that was only copied.

    `old` and `new` are words; empty where a ledger does not have the item.
    """

    kind: str
    uuid: str
    name: str
    old: str
    new: str
    reason: Reason


class NewConsumers:
    """The holdings of each consumer in the new ledger; `lines` are the differences and reasons."""

    def __init__(
        self,
        facts: Facts,
        reasons: Mapping[str, Reason],
        released: frozenset[str],
        strangers: Mapping[str, Holding],
    ) -> None:
        self._facts = facts
        self._reasons = reasons
        self._released = released
        self._strangers = strangers
        self.lines: list[LedgerLine] = []

    def allocations(self) -> dict[str, Allocations]:
        """The allocations by consumer, without consumers that hold nothing."""
        found: dict[str, Allocations] = {}
        judged: set[str] = set()
        for uuid, instance in sorted(self._facts.alive.items()):
            moves = {row.uuid for row in self._facts.migrations_of.get(uuid, ())}
            judged |= {uuid, *moves}
            for consumer, amounts in self._of_instance(instance).items():
                if amounts:
                    found[consumer] = Allocations(amounts, instance.project, instance.user)
                    self._tell_owner(consumer, instance)
        for uuid, held in sorted(self._facts.consumers.items()):
            if uuid in judged:
                continue
            if uuid in self._released:
                self._tell(uuid, held, {}, self._reasons[uuid])
                continue
            found[uuid] = self._copied(uuid, held)
        return found

    def _of_instance(self, instance: Instance) -> Mapping[str, Amounts]:
        """The amounts of an instance and its migrations."""
        facts, uuid = self._facts, instance.uuid
        record = facts.record(uuid)
        old = {
            consumer: held for consumer, held in ((uuid, record.own), *record.moves.items()) if held
        }
        if uuid in self._released:
            for consumer, held in old.items():
                self._tell(consumer, held, {}, self._reasons[uuid])
            return {}
        claim = claim_of(uuid, facts)
        if not_judged(claim, record, facts):
            # SAFETY: a claim that an audit refuses to judge is not judged here either.
            return old
        new = dict(old)
        if isinstance(claim, LostInMove):
            new |= {expectation.consumer: expectation.known for expectation in claim.wanted}
            self._tell_all(old, new, because("move-lost-claim"))
        elif isinstance(claim, OnHost) and uuid in self._reasons:
            right = should_hold(claim, facts)
            if isinstance(right, Unknown):
                if record.own:
                    why = because("copied", right.reason)
                    self._tell(uuid, record.own, record.own, why, same=True)
            else:
                new = {uuid: right}
                self._tell_all(old, new, self._reasons[uuid])
        if not new:
            new = self._by_rules(instance)
        return new

    def _by_rules(self, instance: Instance) -> dict[str, Amounts]:
        """The amounts by Nova's rules, for an instance that the old ledger does not have."""
        found: dict[str, Amounts] = {}
        names = self._facts.provider_names
        for expectation in expected(instance, self._facts):
            if not expectation.parts:
                continue
            found[expectation.consumer] = expectation.known
            why = because("held-nothing", open_reasons(expectation, names))
            self._tell(expectation.consumer, {}, expectation.known, why)
        return {consumer: held for consumer, held in found.items() if held}

    def _copied(self, uuid: str, held: Amounts) -> Allocations:
        """The unchanged amounts of a consumer that cannot be judged."""
        kept = self._strangers.get(uuid, Holding(None, None)).allocations
        owner = self._facts.owners.get(uuid) or self._facts.deleted.get(uuid) or kept
        project, user = (owner.project, owner.user) if owner else (NOBODY, NOBODY)
        reason = because("copied-stranger")
        if uuid in self._facts.misspelled.get(written := canonical_uuid(uuid), ()):
            reason = because("copied-misspelled", consumer=written)
        elif uuid in self._facts.deleted:
            reason = because("copied-deleted")
        self._tell(uuid, held, held, reason, same=True)
        return Allocations(held, project, user, kept.consumer_type if kept else None)

    def _tell_owner(self, consumer: str, instance: Instance) -> None:
        owner = self._facts.owners.get(consumer)
        right = (instance.project, instance.user)
        if owner is not None and (owner.project, owner.user) != right:
            old = f"project {owner.project}, user {owner.user}"
            new = f"project {instance.project}, user {instance.user}"
            self.lines.append(
                LedgerLine("owner", consumer, instance.name, old, new, because("owner-of-nova"))
            )

    def _tell_all(
        self, old: Mapping[str, Amounts], new: Mapping[str, Amounts], why: Reason
    ) -> None:
        for uuid in sorted(old.keys() | new.keys()):
            self._tell(uuid, old.get(uuid, {}), new.get(uuid, {}), why)

    def _tell(self, uuid: str, old: Amounts, new: Amounts, why: Reason, same: bool = False) -> None:
        if old == new and not same:
            return
        names = self._facts.provider_names
        instance = self._facts.alive.get(uuid) or self._facts.deleted.get(uuid)
        before, after = amounts_in_words(old, names), amounts_in_words(new, names)
        name = instance.name if instance else ""
        self.lines.append(LedgerLine("consumer", uuid, name, before, after, why))


def not_judged(claim: Claim, record: InstanceRecord, facts: Facts) -> Reason | None:
    """Why an instance keeps its amounts of the old ledger, not those of Nova's rules; or None.

    An instance in motion gets the amounts of the rules, since it runs and a lost ledger has nothing
    of it, unless it would then be counted twice.
    """
    if isinstance(claim, NotCertain):
        return claim.reason
    if isinstance(claim, Missing):
        return to_be_deleted(claim)
    moves = [row.uuid for row in record.migrations]
    twice = any(consumer in facts.misspelled for consumer in (record.uuid, *moves))
    if isinstance(claim, Moving) and (twice or (len(record.living) > 1 and not record.hidden)):
        return contradiction(record, facts)
    return None
