# SPDX-License-Identifier: Apache-2.0
"""Wrong claims that no defect asks for: they are reported, so that silence means "right". Pure."""

from collections.abc import Collection, Iterator

from trueup.reconcile.claims import (
    Claim,
    NotCertain,
    OnHost,
    WrongDevices,
    all_claims,
)
from trueup.reconcile.expected import open_reasons
from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Subject, Unchecked, amounts_in_words

# The types of claims that no defect asks for.
_UNNAMED = (WrongDevices,)


def unexplained(facts: Facts, covered: Collection[str]) -> Iterator[Unchecked]:
    """Instances whose claim is not right, and has a type that no defect asks for.

    `covered` are the uuids that have a verdict already: why their facts are not certain is not
    repeated for these.
    """
    for claim in all_claims(facts):
        if reason := _reason(claim, facts, covered):
            where = claim.instance.host or ""
            yield Unchecked(Subject("instance", claim.instance.uuid), where, reason)


def _reason(claim: Claim, facts: Facts, covered: Collection[str]) -> str:
    if isinstance(claim, NotCertain):
        is_covered = claim.instance.uuid in covered or not claim.of_instance
        return "" if is_covered else claim.reason
    return _difference(claim, facts) if isinstance(claim, _UNNAMED) else ""


def _difference(claim: OnHost, facts: Facts) -> str:
    names, wanted = facts.provider_names, claim.wanted
    return (
        f"holds {amounts_in_words(claim.held, names) or 'nothing'}, should hold "
        f"{amounts_in_words(wanted.known, names) or 'nothing'}"
        + (f" ({open_reasons(wanted, names)})" if wanted.open else "")
        + "; no remedy is known"
    )
