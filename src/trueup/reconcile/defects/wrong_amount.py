# SPDX-License-Identifier: Apache-2.0
"""Wrong amount: an instance holds more or less of its host than it should.

`heal_allocations` calls this "up-to-date". What it should hold follows from its flavor, its image
(dedicated processors), and whether its root disk is a volume.
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.full_replace import amounts_verdict, full_replace
from trueup.reconcile.rules.claims import WrongAmount, claim_of, claims
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Verdict,
)

NAME = "wrong-amount"
TITLE = "An instance holds more or less of its host than its flavor and image ask for"
REMEDY = "Let it hold what its flavor and image ask for"
SEVERITIES = (Severity.HIGH,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION


_ROOT_DISK = {True: "a volume", False: "on its host", None: "not shown by Nova's API"}


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold a wrong amount of their own host, and nothing of other hosts."""
    for claim in claims(facts, WrongAmount):
        yield amounts_verdict(NAME, Severity.HIGH, claim, facts, _asked_for(claim))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One full replace. It keeps uncertain shares of ports and devices."""
    claim = claim_of(finding.subject.uuid, facts)
    if not isinstance(claim, WrongAmount):
        return because("amount-right-now")
    return full_replace(claim, finding, facts)


def _asked_for(claim: WrongAmount) -> dict[str, str | None]:
    """The flavor, root disk and CPU policy from which the right amounts follow."""
    flavor = claim.instance.flavor
    image = claim.instance.image_properties or {}
    policy = (flavor.extra_specs.get("hw:cpu_policy") if flavor else None) or image.get(
        "hw_cpu_policy"
    )
    return {
        "flavor": flavor.name if flavor else None,
        "root_disk": _ROOT_DISK[claim.instance.volume_backed],
        **({"cpu_policy": policy} if policy else {}),
    }
