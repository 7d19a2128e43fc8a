# SPDX-License-Identifier: Apache-2.0
"""One drift of each kind, planted in a cloud at rest: found, named, and repaired."""

import pytest

from tests.simulator.adapter import Audited
from tests.simulator.changes import in_words
from tests.simulator.cloud import Cloud
from tests.simulator.drifts import DRIFTS, GUEST_DRIFTS
from tests.simulator.events import happen, parsed
from tests.simulator.host_drifts import FOREIGN, HOST_DRIFTS, IN_USE
from tests.simulator.places import HOSTS, POOL
from tests.simulator.quiet import QUIET_SECONDS, audited, repaired, subjects_of, wrong_consumers
from tests.simulator.rows import uuid_of

# The events that make a drift possible.
BEFORE = {
    "shelved": ("shelve web", "finish web"),
    "orphaned": ("delete web", "finish web"),
    **dict.fromkeys(
        ("missing-port", "unnamed-port", "misnamed-port", "forgotten-port"),
        ("attach web", "finish web"),
    ),
    "ghost": ("delete web", "finish web"),
    "source-lost": ("resize web NEXT large", "finish web"),
}
NEXT = {"h1": "h2", "h4": "h5"}


@pytest.mark.parametrize("host", ["h1", "h4"], ids=["own disk", "pool"])
@pytest.mark.parametrize("kind", [*DRIFTS, *GUEST_DRIFTS])
def test_one_drift_of_a_server_is_found_named_and_repaired(kind, host):
    cloud, hypervisors = Cloud(), kind in GUEST_DRIFTS
    play_all(cloud, f"boot web {host} small", "finish web", *events_before(kind, host))
    play_all(cloud, f"plant web {kind}")
    cloud.wait(QUIET_SECONDS)
    before = audited(cloud, hypervisors)
    wrong = {**wrong_consumers(cloud), **cloud.damage}
    assert wrong
    for consumer, names in wrong.items():
        is_reported(before, subjects_of(cloud, consumer), names)
    repaired(cloud, hypervisors)
    for consumer, names in wrong_consumers(cloud).items():
        held = f"holds {in_words(cloud.held(consumer))}"
        assert not names, f"{held}; right is {in_words(cloud.acceptable_to(consumer)[0])}"


@pytest.mark.parametrize("kind", ["unnamed-port", "misnamed-port", "forgotten-port"])
def test_the_binding_profile_of_a_port_is_repaired_with_its_claim(kind):
    cloud = Cloud()
    play_all(cloud, "boot web h1 small", "finish web", *BEFORE[kind], f"plant web {kind}")
    cloud.wait(QUIET_SECONDS)
    assert repaired(cloud).findings == frozenset()
    [port] = cloud.ports.values()
    assert port.provider == HOSTS["h1"].card


@pytest.mark.parametrize("kind", HOST_DRIFTS)
def test_one_drift_of_a_host_is_found_and_named(kind):
    cloud, host = Cloud(), HOSTS["h1" if kind in IN_USE else "h3"]
    play_all(cloud, "boot web h1 small", "finish web", "boot db h5 small", "finish db")
    play_all(cloud, "boot old h2 small", "finish old", "delete old", "finish old")
    HOST_DRIFTS[kind].act(cloud, host)
    cloud.wait(QUIET_SECONDS)
    before = audited(cloud)
    subjects = {host.name, *host.tree, uuid_of(f"{host.name}.example.org")}
    subjects |= {uuid for uuid, row in cloud.providers.items() if row.parent == host.root}
    subjects |= {row.uuid for row in cloud.cells[host.cell].nodes.values()}
    subjects |= {uuid_of("old")}
    is_reported(before, frozenset(subjects), frozenset(HOST_DRIFTS[kind].names))
    others = {uuid: row for uuid, row in cloud.providers.items() if uuid not in subjects}
    foreign = FOREIGN in cloud.providers.get(host.root, others[POOL]).aggregates
    after = repaired(cloud)
    assert wrong_consumers(cloud) == {}
    assert others.items() <= cloud.providers.items()
    assert bool(after.findings) is not HOST_DRIFTS[kind].repairable
    assert not foreign or FOREIGN in cloud.providers[host.root].aggregates


def events_before(kind: str, host: str) -> list[str]:
    return [line.replace("NEXT", NEXT[host]) for line in BEFORE.get(kind, ())]


def play_all(cloud: Cloud, *lines: str) -> None:
    for line in lines:
        happen(parsed(line), cloud)


def is_reported(audit: Audited, subjects: frozenset[str], names: frozenset[str]) -> None:
    """Found under one of its names, or unchecked if it has none; and nothing else is found."""
    found = {name for name, subject in audit.findings if subject in subjects}
    is_open = any(one in audit.open for one in subjects)
    reported = found & names if names else is_open
    assert reported, f"found as {sorted(found)}, it is {sorted(names)}; open: {audit.open}"
    others = {row for row in audit.findings if row[1] not in subjects}
    assert not others, f"found besides: {sorted(others)}"
