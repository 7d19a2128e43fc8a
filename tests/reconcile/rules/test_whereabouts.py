# SPDX-License-Identifier: Apache-2.0
"""Which moves leave open where a guest is; audits/whereabouts.txt has the verdicts."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.observing import plan_of
from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import NOW, uuid_of
from trueup.reconcile.facts import Facts
from trueup.reconcile.rules.whereabouts import Whereabouts, as_found, whereabouts
from trueup.reconcile.steps import DomainIs

HOSTS = "cell1\n" + "".join(f"  host h{n} VCPU=8 MEMORY_MB=8 up\n" for n in (1, 2, 3))
ON_BOTH = "holds web h1 VCPU=1 MEMORY_MB=1\nholds web h2 VCPU=1 MEMORY_MB=1\n"
RETURNED = "  live-migration of web from h2 to h1 completed\n"
FAILED = "  server web on h1 state=error VCPU=1 MEMORY_MB=1\n"
POST_FAILED = f"{HOSTS}{FAILED}  live-migration of web from h1 to h2 error\n"


def moved(status: str, later: str = "", held: str = ON_BOTH) -> Facts:
    """A server that Nova has on h1, and that was moved to h2."""
    server = "  server web on h1 VCPU=1 MEMORY_MB=1\n"
    return facts_of(f"{HOSTS}{server}  live-migration of web from h1 to h2 {status}\n{later}{held}")


def of_web(facts: Facts) -> Whereabouts | None:
    web = facts.alive[uuid_of("web")]
    return whereabouts(web, facts.record(web.uuid), facts)


def hosts(facts: Facts) -> list[str]:
    found = of_web(facts)
    return [one.host for one in found.places] if found else []


@pytest.mark.parametrize(("status", "places"), [("completed", ["h1", "h2"]), ("failed", [])])
def test_the_last_move_that_succeeded_decides(status, places):
    assert hosts(moved(status)) == places


@pytest.mark.parametrize("newest_first", [False, True])
def test_moves_are_judged_by_their_time_in_whatever_order_they_are_listed(newest_first):
    facts = moved("completed", RETURNED)
    moves = [
        replace(row, created_at=NOW + timedelta(seconds=number))
        for number, row in enumerate(facts.migrations)
    ]
    moves = tuple(reversed(moves)) if newest_first else tuple(moves)
    assert hosts(replace(facts, migrations=moves)) == []


def test_a_move_without_a_time_is_older_than_one_that_has_one():
    """A row that was inserted by hand may lack it."""
    facts = moved("completed", RETURNED)
    undated, dated = facts.migrations
    facts = replace(facts, migrations=(replace(dated, created_at=NOW), undated))
    assert hosts(facts) == []


@pytest.mark.parametrize("status", ["error", "failed", "cancelled"])
@pytest.mark.parametrize("kind", ["live-migration", "migration", "resize", "evacuation"])
def test_a_move_that_failed_hides_no_earlier_one(kind, status):
    assert hosts(moved("completed", f"  {kind} of web from h1 to h3 {status}\n")) == ["h1", "h2"]


def test_the_target_is_the_host_of_its_provider_however_it_is_written():
    facts = moved("completed")
    [move] = facts.migrations
    other = replace(move, target_host="H2", target_node=None)
    assert hosts(replace(facts, migrations=(other,))) == ["h1", "h2"]


def test_of_what_nobody_holds_there_is_no_doubt():
    """As after a move that failed long ago."""
    assert hosts(moved("completed", held="holds web h1 VCPU=1 MEMORY_MB=1\n")) == []
    assert hosts(moved("completed", held="")) == ["h1", "h2"]


def test_where_hypervisors_decide_it_their_answers_are_guards():
    text = f"{POST_FAILED}guest web on h2 running\nhypervisor h1\nholds web h2 VCPU=1 MEMORY_MB=1\n"
    facts = facts_of(text + "holds live-migration-of-web h1 VCPU=1 MEMORY_MB=1\n")
    web = facts.alive[uuid_of("web")]
    assert as_found(web, facts.record(web.uuid), facts) == replace(web, host="h2", node="h2")
    [step] = plan_of(facts).steps
    assert step.consumers == (uuid_of("live-migration-of-web"),)
    said = [one for one in step.guards if isinstance(one, DomainIs)]
    assert said == [DomainIs("h1", web.uuid, None), DomainIs("h2", web.uuid, "running")]


def test_without_a_doubt_the_instance_is_as_nova_has_it():
    facts = moved("failed")
    web = facts.alive[uuid_of("web")]
    assert as_found(web, facts.record(web.uuid), facts) is web
