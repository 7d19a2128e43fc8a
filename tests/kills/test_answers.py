# SPDX-License-Identifier: Apache-2.0
"""Invariant 10: a write whose answer is lost, wrong or late is made exactly once all the same.

On both Placements, and for every kind of target that is reached over HTTP: in `make conformance`
for all of them, in `make test` for some.
"""

from collections.abc import Callable

import pytest

from tests.kills.proxy import Proxy, Wrong
from tests.kills.rounds import Round, begun
from tests.kills.site import Site
from tests.kills.targets import MAKERS
from tests.kills.test_every_write import KILLS

REFUSED = 4
# Domains are not written over HTTP. What one request creates for several consumers is tried again
# for each by itself: tests/reconcile/runs/test_batch_creation.py answers that badly.
ANSWERED_HERE = [kind for kind in MAKERS if kind not in ("domain", "undefined", "created")]
KINDS = ANSWERED_HERE if KILLS else ["two_consumers", "renamed"]
EVERY = pytest.mark.parametrize("kind", KINDS)
BOTH = pytest.mark.parametrize("placement", ["trueup", "upstream"] if KILLS else ["trueup"])
# The service compares no version: what is late is written once more, and changes nothing.
UNVERSIONED = {"renamed", "re_parented", "compute_service"}


@pytest.fixture
def chosen(site: Callable[[str], Site], placement: str) -> Site:
    return site(placement)


def proxy_of(kind: str, site: Site) -> Proxy:
    """The proxy that the first write of such a plan goes through."""
    return site.others if kind in ("port_binding", "compute_service") else site.placement


def changes_of(one: Round) -> int:
    return sum(len(step.changes) for step in one.steps)


def answered_badly(site: Site, kind: str, wrong: Wrong) -> tuple[Round, int]:
    """A round whose first write went wrong: it, and how many writes were accepted before it."""
    one, accepted = begun(site, MAKERS[kind](site)), site.accepted
    # The first write of an emptied consumer is refused, and names the generation of the second.
    proxy_of(kind, site).spoil(*[None] * (kind == "emptied"), wrong)
    ran = site.run("apply", one.plan, state=one.state)
    committed = wrong.name.endswith("_AFTER")
    assert ran.code == (0 if committed else REFUSED), ran.out + ran.err
    # 409 is a definite no; of everything else it is not known whether it was carried out.
    reported = "refused" if wrong is Wrong.CONFLICT else "unknown"
    assert committed or reported in ran.out
    return one, accepted


@BOTH
@EVERY
@pytest.mark.parametrize("wrong", [one for one in Wrong if one not in (Wrong.LATE, Wrong.TWICE)])
def test_a_write_that_is_answered_badly_is_made_exactly_once(chosen, kind, wrong):
    one, accepted = answered_badly(chosen, kind, wrong)
    one.apply_again()
    assert chosen.accepted - accepted == changes_of(one)
    one.undo()


@BOTH
@EVERY
def test_a_write_that_a_proxy_sends_twice_is_done_and_taken_back_by_name(chosen, kind):
    """Another run of an equal plan leaves the same, and then the service answers the same."""
    one, accepted = begun(chosen, MAKERS[kind](chosen)), chosen.accepted
    proxy_of(kind, chosen).spoil(*[None] * (kind == "emptied"), Wrong.TWICE)
    ran = chosen.run("apply", one.plan, state=one.state)
    assert ran.code == 0, ran.out + ran.err
    assert chosen.accepted - accepted == changes_of(one) + (kind in UNVERSIONED)
    one.is_complete()
    ran = chosen.run("undo", one.run_name, state=one.state)
    left = [step for step in one.steps if f"Step {step.id} is left in place" in ran.err]
    assert ran.code == (REFUSED if left else 0), ran.out + ran.err
    assert bool(left) == (kind not in UNVERSIONED)
    for step in left:
        ran = chosen.run("undo", one.run_name, "--step", step.id, state=one.state)
        assert ran.code == 0, ran.out + ran.err
    one.is_as_before()


@BOTH
@EVERY
def test_a_write_that_comes_late_is_found_by_the_next_run(chosen, kind):
    one, accepted = answered_badly(chosen, kind, Wrong.LATE)
    proxy_of(kind, chosen).deliver()
    one.apply_again()
    assert chosen.accepted - accepted == changes_of(one)
    one.undo()


@BOTH
@EVERY
def test_a_write_that_comes_after_it_was_made_again_changes_nothing(chosen, kind):
    one, accepted = answered_badly(chosen, kind, Wrong.LATE)
    one.apply_again()
    proxy_of(kind, chosen).deliver()
    one.is_complete()
    assert chosen.accepted - accepted == changes_of(one) + (kind in UNVERSIONED)
    one.undo()


@BOTH
@EVERY
def test_a_write_that_comes_after_an_undo_is_taken_back_by_the_next(chosen, kind):
    one, _ = answered_badly(chosen, kind, Wrong.LATE)
    ran = chosen.run("undo", one.run_name, state=one.state)
    if len(one.steps) == 1:
        assert ran.code == REFUSED
        assert "run 'trueup undo" in ran.err
    one.is_as_before()
    proxy_of(kind, chosen).deliver()
    one.undo()
