# SPDX-License-Identifier: Apache-2.0
"""Which steps of a plan release resources of a provider."""

from tests.reconcile.planning import planned
from tests.scenarios.names import uuid_of
from trueup.reconcile.runbooks.releases import releases_of


def test_steps_that_leave_a_consumer_with_nothing_there():
    """`old` is released from h1; `db` is moved from h2 to h1; `web` only gets something."""
    plan = planned()
    everybody = [uuid_of(name) for name in ("old", "db", "web", "nobody")]
    from_h1 = releases_of(plan, everybody, {uuid_of("h1")})
    assert list(from_h1.by_consumer) == [uuid_of("old")]
    from_h2 = releases_of(plan, everybody, {uuid_of("h2")})
    assert uuid_of("db") in from_h2.by_consumer
    assert [step.id for step in plan.steps if step in from_h2.steps] == [
        step.id for step in from_h2.steps
    ]
