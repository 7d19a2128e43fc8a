# SPDX-License-Identifier: Apache-2.0
"""Invariant 10: `trueup apply` is killed with SIGKILL at every system call that writes.

To a file or to a socket, before the kernel carries the call out and after it; on both Placements;
for every kind of target. A second run completes the plan exactly once, and an undo gives back what
there was, byte for byte. `make conformance` takes every call; `make test` a few, with the console
command itself.
"""

import os
from collections.abc import Callable

import pytest

from tests.kills.rounds import Round, begun
from tests.kills.site import Site
from tests.kills.targets import MAKERS
from tests.kills.tracing import Kill, Tracing

# "": some calls. "all": every call, each of them in a fork of a warm interpreter. "command": every
# call, each of them in the console command from its start.
KILLS = os.environ.get("TRUEUP_KILLS", "")
FEW = 4
EVERY = pytest.mark.parametrize("kind", MAKERS if KILLS else ("migration", "several"))
BOTH = pytest.mark.parametrize("placement", ["trueup", "upstream"])


@pytest.fixture
def chosen(site: Callable[[str], Site], placement: str, kind: str) -> Site:
    running = site(placement)
    if kind == "domain" and not running.libvirt_uri:
        pytest.skip("libvirtd was not found: install the package libvirt-daemon")
    return running


def killed_at(tracing: Tracing, one: Round, kill: Kill) -> bool:
    return tracing.run(one.words, one.site.environment, kill, KILLS != "all").killed


def points(tracing: Tracing, site: Site, kind: str) -> list[Kill]:
    """Every call before and after; or a few of them, the last ones that write to a socket too."""
    whole = begun(site, MAKERS[kind](site))
    calls = tracing.run(whole.words, site.environment, command=False)
    assert calls.code == 0, calls.output
    whole.is_complete()
    whole.undo()
    every = [
        Kill(at, when) for at in range(1, len(calls.calls) + 1) for when in ("before", "after")
    ]
    if KILLS:
        return every
    sent = [at for at, name in enumerate(calls.calls, 1) if name == "sendto"]
    return [Kill(at, when) for at in sent[-FEW // 2 :] for when in ("before", "after")]


@pytest.mark.timeout(7200)
@BOTH
@EVERY
def test_invariant_10_a_killed_apply_is_completed_exactly_once(
    chosen, tracing, kind, record_property
):
    kills = points(tracing, chosen, kind)
    killed = 0
    for kill in kills:
        one = begun(chosen, MAKERS[kind](chosen))
        killed += killed_at(tracing, one, kill)
        try:
            one.apply_again()
            one.undo()
        except AssertionError as error:
            raise AssertionError(f"{kind} killed {kill.when} call {kill.at}: {error}") from error
    record_property("killed", killed)
    assert killed > len(kills) // 2
    print(f"{kind}: killed at {killed} points")
