# SPDX-License-Identifier: Apache-2.0
"""What may be written without a person: by the terms of all policies, and by proof."""

import pytest
from msgspec import structs

from tests.reconcile.plan.policies import in_force
from tests.reconcile.planning import planned
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.plan.automatic import PROOFS, NotAutomatic, terms_of, unproven
from trueup.reconcile.steps import HostEmpty, ServiceDown

RELEASE, ADDITION, MOVE = planned().steps


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ((), "repair-without-policy"),
        (("",), "repair-not-in-policy"),
        # Naming a policy must not permit more than that of the machine.
        (("", "[automatic]"), "repair-not-in-policy"),
        (("[automatic]", "[approval]\nrequired = 1\n[automatic]"), "repair-needs-approval"),
    ],
)
def test_every_policy_has_to_permit_it(texts, reason):
    with pytest.raises(NotAutomatic) as refused:
        terms_of(in_force(*texts))
    assert refused.value.reason.name == reason


def test_of_each_number_the_strictest_counts():
    wide = "[automatic]\nrounds = 9\nsubjects_per_hour = 9\nsubjects_per_day = 9\npause = 'a'"
    strict = "[automatic]\nsubjects_per_hour = 1\nfindings_share = 0.5\npause = 'b'"
    found = terms_of(in_force(wide, strict))
    assert (found.rounds, found.per_hour, found.per_day) == (9, 1, 9)
    assert found.findings_share == 0.01
    assert [path.name for path in found.pauses] == ["a", "b"]


def test_only_proven_findings_are_for_a_machine():
    assert (unproven(RELEASE), unproven(ADDITION)) == (None, None)
    assert unproven(MOVE).name == "repair-without-proof"


@pytest.mark.parametrize("guard", [ServiceDown("c", "h1"), HostEmpty("h1")])
def test_what_rests_on_silence_is_for_people(guard):
    step = structs.replace(RELEASE, guards=(*RELEASE.guards, guard))
    assert unproven(step).name == "repair-on-silence"


def test_a_step_that_reads_no_instance_again_is_for_people():
    assert unproven(structs.replace(RELEASE, guards=())).name == "repair-unguarded"


def test_each_proof_is_of_a_defect():
    assert PROOFS.keys() <= {defect.NAME for defect in DEFECTS}
