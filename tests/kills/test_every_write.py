# SPDX-License-Identifier: Apache-2.0
"""Invariant 10: `trueup apply` is killed with SIGKILL at every system call that writes.

To a file or to a socket, before the kernel carries the call out and after it; on both Placements;
for every kind of target. A second run completes the plan exactly once, and an undo gives back what
there was, byte for byte. `make conformance` takes every call; `make test` a few, with the console
command itself.
"""

import os
from collections.abc import Callable, Sequence

import pytest

from tests.kills.hypervisor import MISSING
from tests.kills.proxy import Event, Wrong
from tests.kills.rounds import Round, begun
from tests.kills.site import Site
from tests.kills.targets import MAKERS
from tests.kills.tracing import Kill, Tracing
from tests.servers.skipping import skip_without

# "": some calls. "all": every call, each of them in a fork of a warm interpreter. "command": every
# call, each of them in the console command from its start.
KILLS = os.environ.get("TRUEUP_KILLS", "")
FEW = 2
# In the step `several` the service of Nova is the last of three.
REFUSED = (None, Wrong.CONFLICT)
EVERY = pytest.mark.parametrize("kind", MAKERS if KILLS else ("several", "created"))
BOTH = pytest.mark.parametrize("placement", ["trueup", "upstream"])


@pytest.fixture
def chosen(site: Callable[[str], Site], placement: str, kind: str) -> Site:
    running = site(placement)
    if kind in ("domain", "undefined") and not running.libvirt_uri:
        skip_without(MISSING)
    return running


def points(tracing: Tracing, site: Site, kind: str, refused: bool = False) -> list[Kill]:
    """Before and after every call of a whole run; or of a few, the last ones to a socket."""
    whole = begun(site, MAKERS[kind](site))
    ran = tracing.run(whole.words, site.environment, command=False)
    assert ran.code == (4 if refused else 0), ran.output
    if not refused:
        whole.is_complete()
        whole.undo()
    whole.is_as_before()
    calls = range(1, len(ran.calls) + 1)
    if not KILLS:
        calls = [at for at in calls if ran.calls[at - 1] == "sendto"][-FEW:]
    return [Kill(at, when) for at in calls for when in ("before", "after")]


def at_each(
    tracing: Tracing,
    site: Site,
    kind: str,
    kills: Sequence[Kill],
    then: Callable[[Round], None],
    wrong: Sequence[Event] = (),
) -> int:
    """Kill a round at each of these points and go on as `then` says; how many were killed."""
    killed, one = 0, None
    for kill in kills:
        one = begun(site, MAKERS[kind](site), one)
        site.others.spoil(*wrong)
        killed += tracing.run(one.words, site.environment, kill, KILLS != "all").killed
        one.site.settle()
        try:
            then(one)
        except AssertionError as error:
            raise AssertionError(f"{kind} killed {kill.when} call {kill.at}: {error}") from error
    return killed


def completed(one: Round) -> None:
    one.apply_again()
    one.undo()


def undone(one: Round) -> None:
    """Without a second run: what was written is taken back."""
    code = 2 if not one.began else 4 if one.left_open else 0
    ran = one.site.run("undo", one.run_name, state=one.state)
    assert ran.code == code, ran.out + ran.err
    one.is_as_before()


def whole_or_nothing(one: Round) -> None:
    """The second run writes all of a step or, if that was being taken back, none of it."""
    one.site.spoil()
    ran = one.site.run("apply", one.plan, state=one.state)
    if ran.code == 0:
        one.is_complete()
        one.undo()
    else:
        assert ran.code == 4, ran.out + ran.err
        one.is_as_before()


@pytest.mark.timeout(7200)
@BOTH
@EVERY
def test_invariant_10_a_killed_apply_is_completed_exactly_once(
    chosen, tracing, kind, record_property
):
    kills = points(tracing, chosen, kind)
    killed = at_each(tracing, chosen, kind, kills, completed)
    record_property("killed", killed)
    assert killed > len(kills) // 2


@pytest.mark.timeout(7200)
@BOTH
@EVERY
def test_invariant_10_a_killed_apply_is_undone(chosen, tracing, kind, record_property):
    kills = points(tracing, chosen, kind)[::3]
    killed = at_each(tracing, chosen, kind, kills, undone)
    record_property("killed", killed)
    assert killed > len(kills) // 2


@pytest.mark.timeout(7200)
@BOTH
@pytest.mark.parametrize("kind", ["several"])
def test_invariant_10_a_step_that_is_being_taken_back_is_whole_or_not_there(
    chosen, tracing, kind, record_property
):
    """Its last change is refused; the process is killed before that, or while it takes back."""
    chosen.others.spoil(*REFUSED)
    kills = points(tracing, chosen, kind, refused=True)
    killed = at_each(tracing, chosen, kind, kills, whole_or_nothing, REFUSED)
    record_property("killed", killed)
    assert killed > len(kills) // 2
