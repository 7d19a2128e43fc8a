# SPDX-License-Identifier: Apache-2.0
"""Wrong claims that no defect asks for: reported here, so silence means "right". Pure."""

from collections.abc import Collection, Iterator

from trueup.reconcile.expected import Share, Unknown, open_reasons
from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.claims import (
    Claim,
    NotCertain,
    OnHost,
    RightAsFarAsKnown,
    WrongDevices,
    all_claims,
)
from trueup.reconcile.verdicts import Subject, Unchecked, holding

# The types of claims that no defect asks for.
_UNNAMED = (WrongDevices,)


def unexplained(facts: Facts, covered: Collection[str]) -> Iterator[Unchecked]:
    """Instances whose claim is not certainly right and has a type that no defect asks for.

    `covered` are the uuids that already have a verdict: for these, no uncertainty is repeated.
    """
    for claim in all_claims(facts):
        if reason := _reason(claim, facts, covered):
            where = claim.instance.host or ""
            yield Unchecked(Subject("instance", claim.instance.uuid), where, reason)


def _reason(claim: Claim, facts: Facts, covered: Collection[str]) -> Reason | None:
    if isinstance(claim, NotCertain):
        is_covered = claim.instance.uuid in covered or not claim.of_instance
        return None if is_covered else claim.reason
    if isinstance(claim, RightAsFarAsKnown):
        return None if claim.instance.uuid in covered else _not_known(claim)
    return _difference(claim, facts) if isinstance(claim, _UNNAMED) else None


def _not_known(claim: RightAsFarAsKnown) -> Reason | None:
    """Why its right processors, memory and disk are not known; or None.

    SAFETY: then every amount agrees with what is known, even a wrong amount.
    """
    unknown = [part for part in claim.wanted.of(Share.HOST).open if isinstance(part, Unknown)]
    return because("claim-not-known", unknown[0].reason) if unknown else None


def _difference(claim: OnHost, facts: Facts) -> Reason:
    names, wanted = facts.provider_names, claim.wanted
    held, should_hold = holding(claim.held, names), holding(wanted.known, names)
    reason = open_reasons(wanted, names)
    return because("no-remedy-known", reason, holds=held, should_hold=should_hold)
