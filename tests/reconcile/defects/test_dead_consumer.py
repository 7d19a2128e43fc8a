# SPDX-License-Identifier: Apache-2.0
"""What the scenarios do not show: an operator's word, and the guards of the step."""

from datetime import timedelta

import pytest

from tests.reconcile.defects.asking import guards, left_with, steps, verdicts
from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import NOW
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import dead_consumer
from trueup.reconcile.steps import CellFresh, DomainIs, NoInstance
from trueup.reconcile.verdicts import Acknowledgement, AuditOptions, Finding

HOST = "cell1\n  host h1 VCPU=8 MEMORY_MB=8192 up\n"
HELD = "holds web h1 VCPU=2\n"


def stated(text: str, days: int = 1) -> list[object]:
    until = NOW.date() + timedelta(days=days)
    one = Acknowledgement("dead-consumer", uuid_of("web"), "purged", until)
    return list(dead_consumer.find(facts_of(text), AuditOptions(acknowledgements=(one,))))


@pytest.mark.parametrize(
    ("text", "days", "is_found"),
    [
        (HOST + HELD, 1, True),
        (HOST + HELD, -1, False),
        (HOST + "map web cell1\n" + HELD, 1, True),
        (HOST + "  server web on h1 VCPU=2 MEMORY_MB=256\n" + HELD, 1, False),
        (HOST + "  server web on h1 deleted=86400\n" + HELD, 1, False),
        (HOST + "build web age=60\n" + HELD, 1, False),
    ],
    ids=["purged", "expired", "row lost", "alive", "deleted", "being built"],
)
def test_an_operator_says_that_a_consumer_is_dead(text, days, is_found):
    assert bool([one for one in stated(text, days) if isinstance(one, Finding)]) is is_found


def test_the_step_rests_on_that_no_cell_has_it():
    text = f"{HOST}map web nowhere age=86400\nguest other on h1 running\n{HELD}"
    made = steps(dead_consumer, text)
    assert left_with(made) == {uuid_of("web"): None}
    assert guards(made, NoInstance) == [NoInstance(uuid_of("web"))]
    assert guards(made, DomainIs) == [DomainIs("h1", uuid_of("web"), None)]
    assert len(guards(made, CellFresh)) == 1


@pytest.mark.parametrize(("age", "is_found"), [(600, True), (599, False)])
def test_its_mapping_is_older_than_the_grace(age, is_found):
    assert bool(verdicts(dead_consumer, f"{HOST}map web nowhere age={age}\n{HELD}")) is is_found
