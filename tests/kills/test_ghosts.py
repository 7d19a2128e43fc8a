# SPDX-License-Identifier: Apache-2.0
"""`trueup ghosts --apply` is killed; the same command again completes what is left, once."""

from collections.abc import Callable

import pytest

from tests.kills.hypervisor import MISSING
from tests.kills.site import Site
from tests.kills.tracing import Kill, Tracing
from tests.servers.domains import define, states
from tests.servers.skipping import skip_without

ORPHAN = "orphaned-allocation"


@pytest.fixture
def haunted(site: Callable[[str], Site]) -> Site:
    """A site where an instance that is deleted holds resources and has a domain."""
    running = site("trueup")
    if not running.libvirt_uri:
        skip_without(MISSING)
    define(running.libvirt_uri, running.planted[ORPHAN])
    return running


@pytest.mark.timeout(600)
def test_ghosts_that_is_killed_goes_on_where_it_ended(haunted: Site, tracing: Tracing):
    """Right after each of its last requests, to the hypervisor's host and to Placement."""
    ghost = haunted.planted[ORPHAN]
    words = [
        "ghosts", *haunted.options, "--libvirt", "test:///default", "--interval", "0.01",
        "--apply", "--yes", "--state-dir", str(haunted.fresh_state()),
    ]  # fmt: skip
    whole = tracing.run(words, haunted.environment, command=False)
    assert whole.code == 0, whole.output
    sent = [at for at, call in enumerate(whole.calls, 1) if call == "sendto"]
    undo = [line.split()[6] for line in whole.output.splitlines() if "To take it back" in line]
    for at in (len(whole.calls) // 2, sent[-1]):
        back = haunted.run("undo", undo[-1], state=words[-1])
        assert back.code == 0, back.err
        assert ghost in states(haunted.libvirt_uri)
        words[-1] = str(haunted.fresh_state())
        killed = tracing.run(words, haunted.environment, Kill(at, "after"), command=False)
        assert killed.killed
        again = tracing.run(words, haunted.environment, command=False)
        assert again.code == 0, again.output
        assert ghost not in states(haunted.libvirt_uri)
        held = haunted.cloud.placement.holdings([ghost])[ghost]
        assert held.allocations is None
        lines = (killed.output + again.output).splitlines()
        undo = [line.split()[6] for line in lines if "To take it back" in line]
