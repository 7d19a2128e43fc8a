# SPDX-License-Identifier: Apache-2.0
"""What befalls an apply on its own machine: a full disk, a lost folder, a rival, an editor."""

import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Ran
from tests.kills.proxy import Proxy
from tests.kills.rounds import Round, begun
from tests.kills.site import Site
from tests.kills.targets import MAKERS
from tests.kills.test_answers import proxy_of
from tests.kills.tracing import Kill, Traced, Tracing
from trueup.reconcile import changes
from trueup.reconcile.steps import Change

USAGE, REFUSED = 2, 4


@pytest.fixture
def one(site: Callable[[str], Site]) -> Round:
    """A round of a plan with several steps."""
    running = site("trueup")
    return begun(running, MAKERS["every defect"](running))


def applied(one: Round) -> Ran:
    return one.site.run("apply", one.plan, state=one.state)


def journal_of(one: Round) -> bytes:
    [path] = one.state.glob("*.jsonl")
    return path.read_bytes()


def test_a_disk_that_is_full_at_any_line_stops_the_run_and_the_next_completes_it(one):
    applied(one)
    whole = journal_of(one)
    one.undo()
    first, second, *_, last, _ = [at + 1 for at, one in enumerate(whole) if one == ord("\n")]
    for size in (0, first // 2, first, first + 9, second, last + 9):
        again = begun(one.site, MAKERS["every defect"](one.site), one)
        ran = filled(again, size)
        assert ran.code == USAGE, ran.out + ran.err
        assert "Nothing more is written to the cloud" in ran.err
        again.apply_again()
        again.undo()


def filled(one: Round, size: int) -> Ran:
    """An apply while no file of this process can grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        return applied(one)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_journal_that_is_gone_stops_the_run_before_the_next_write(one):
    accepted = one.site.accepted
    one.site.placement.spoil(None, lambda: shutil.rmtree(one.state))
    ran = applied(one)
    assert ran.code == USAGE, ran.out + ran.err
    assert "it was deleted while the run went on" in ran.err
    assert one.site.accepted - accepted == 2, "the one before, and the one that was on its way"
    put_back(one)


def put_back(one: Round) -> None:
    """Nothing remembers what was written: the plan still says what was there before."""
    ran = applied(one)
    assert ran.code == REFUSED
    assert ran.out.count("refused") == 2, "it is not taken for ours"
    undone = one.site.run("undo", one.run_name, state=one.state)
    assert undone.code == 0, undone.err
    for step in one.steps[:2]:
        [change] = step.changes
        version = changes.read(change.target, one.site.cloud).version
        back = Change(change.target, change.after, change.before, version)
        assert changes.write(back, one.site.cloud).accepted
    one.is_as_before()


def two_at_once(one: Round, proxy: Proxy, tracing: Tracing, rival: Path) -> tuple[Traced, Ran]:
    """A second apply of the same plan begins and ends while a write of the first is on its way."""
    found: list[Ran] = []
    accepted = one.site.accepted
    proxy.spoil(lambda: found.append(one.site.run("apply", one.plan, state=rival)))
    first = tracing.run(one.words, one.site.environment, command=False)
    changed = sum(len(step.changes) for step in one.steps)
    assert one.site.accepted - accepted == changed, "each change is written once"
    one.is_complete()
    [second] = found
    return first, second


def test_a_second_apply_with_the_same_journal_is_refused(one, tracing):
    first, second = two_at_once(one, one.site.placement, tracing, one.state)
    assert first.code == 0, first.output
    assert second.code == USAGE
    assert "is being applied by another process" in second.err
    one.undo()


# Without the kinds whose services compare no version: there both may be accepted.
@pytest.mark.parametrize("placement", ["trueup", "upstream"])
@pytest.mark.parametrize(
    "kind", ["every defect", "two_consumers", "inventories", "made", "removed", "port_binding"]
)
def test_of_two_applies_with_journals_of_their_own_each_change_is_written_once(
    site, placement, kind, tracing
):
    """The step that both were writing is the same, at the same version: both call it done.

    What the service answers cannot tell them apart: a load balancer that sends the first one's
    request again is answered in the same way. The run that was refused leaves it in place.
    """
    running = site(placement)
    one = begun(running, MAKERS[kind](running))
    rival = running.fresh_state()
    first, second = two_at_once(one, proxy_of(kind, running), tracing, rival)
    assert second.code == 0, second.err
    late = len(one.steps) - 1
    assert first.code == (REFUSED if late else 0), first.output
    assert first.output.count("another client has already made this change") == late
    assert "may be somebody else's work" in first.output
    accepted = running.accepted
    ran = running.run("undo", one.run_name, state=one.state)
    assert ran.code == REFUSED, ran.out + ran.err
    assert f"Step {one.steps[0].id} is left in place" in ran.err
    assert running.accepted == accepted, "the other one has written it"
    one.is_complete()
    ran = running.run("undo", one.run_name, state=rival)
    assert ran.code == 0, ran.out + ran.err
    one.is_as_before()


def killed_in_the_middle(one: Round, tracing: Tracing) -> None:
    assert tracing.run(one.words, one.site.environment, Kill(30), command=False).killed


def test_a_plan_that_was_edited_after_a_kill_is_refused(one, tracing):
    killed_in_the_middle(one, tracing)
    content = one.plan.read_text()
    one.plan.write_text(content.replace('"VCPU": 1', '"VCPU": 2', 1))
    assert one.plan.read_text() != content
    before = one.site.ledger()
    ran = applied(one)
    assert (ran.code, ran.out) == (USAGE, "")
    assert "was changed after it was made" in ran.err
    assert one.site.ledger() == before
    one.plan.write_text(content)
    one.apply_again()
    one.undo()


def test_a_journal_that_was_edited_after_a_kill_is_refused(one, tracing):
    killed_in_the_middle(one, tracing)
    [path] = one.state.glob("*.jsonl")
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"VCPU":1', b'"VCPU":2', 1))
    assert path.read_bytes() != content
    before = one.site.ledger()
    for ran in (applied(one), one.site.run("undo", one.run_name, state=one.state)):
        assert (ran.code, ran.out) == (USAGE, "")
        assert "was edited" in ran.err
    assert one.site.ledger() == before
    path.write_bytes(content)
    one.apply_again()
    one.undo()
