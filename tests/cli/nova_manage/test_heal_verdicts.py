# SPDX-License-Identifier: Apache-2.0
"""Next to Nova 34's own command: ports whose bandwidth is not allocated."""

from collections.abc import Iterator

import pytest

from tests.cli.nova_manage.bandwidth import AMOUNTS, Bandwidth, uuid_of
from tests.cli.nova_manage.twins import Twins, same

pytestmark = pytest.mark.xdist_group("nova-manage")

HEAL = ("heal_allocations", "--verbose")


@pytest.fixture
def bandwidth(twins: Twins) -> Iterator[Bandwidth]:
    """A host with one bridge that gives bandwidth."""
    found = Bandwidth(twins, twins.actives()[0])
    bridge = found.bridge("br0")
    yield found
    twins.hold(found.instance)
    found.no_bridge(bridge)


@pytest.fixture
def second_bridge(bandwidth: Bandwidth) -> Iterator[str]:
    bridge = bandwidth.bridge("br1")
    yield bridge
    bandwidth.twins.hold(bandwidth.instance)
    bandwidth.no_bridge(bridge)


CASES = {
    "all": ([], True, 0),
    "--dry-run": (["--dry-run"], True, 4),
    "--instance": (["--instance", "{instance}"], True, 0),
    "--instance that holds the rest": (["--instance", "{instance}"], False, 0),
    "--skip-port-allocations": (["--skip-port-allocations"], True, 0),
    "--skip-port-allocations that holds the rest": (["--skip-port-allocations"], False, 4),
}


@pytest.mark.parametrize(("words", "missing", "code"), CASES.values(), ids=CASES)
def test_a_port_as_nova(bandwidth: Bandwidth, words: list[str], missing: bool, code: int) -> None:
    twins, one = bandwidth.twins, bandwidth.instance

    def arrange() -> None:
        twins.hold(one, None if missing else twins.right(one))
        bandwidth.ports(["first"])

    line = [word.format(instance=one.uuid) for word in words]
    both = twins.both(*HEAL, *line, arrange=arrange)
    same(both)
    assert both.ours.code == code


def test_two_ports_as_nova(bandwidth: Bandwidth) -> None:
    twins, one = bandwidth.twins, bandwidth.instance

    def arrange() -> None:
        twins.hold(one, twins.right(one))
        bandwidth.ports(["first", "second"])

    both = twins.both(*HEAL, "--instance", one.uuid, arrange=arrange)
    same(both)
    assert both.profiles[1][uuid_of("first")]


def test_both_or_neither_when_neutron_refuses_the_second_port(bandwidth: Bandwidth) -> None:
    twins, one = bandwidth.twins, bandwidth.instance

    def arrange() -> None:
        twins.hold(one)
        bandwidth.ports(sorted(["first", "second"], key=uuid_of))
        twins.neutron.refusing = {max(map(uuid_of, ("first", "second")))}

    both = twins.both(*HEAL, "--instance", one.uuid, arrange=arrange)
    assert both.ours.code == both.nova.code == 6
    assert both.ledgers[1] == both.ledgers[0]
    assert both.profiles[1] == both.profiles[0] == {one: {} for one in twins.neutron.ports}
    assert one.uuid not in both.ledgers[1]
    # Nova's client adds the id of Neutron's request to Neutron's words.
    assert [line.split(": ")[0] for line in both.ours.out.splitlines()] == [
        line.split(": ")[0]
        for line in both.nova.out.splitlines()
        if not line.startswith("Neutron server returns")
    ]


def test_a_rollback_that_neutron_refuses(bandwidth: Bandwidth) -> None:
    twins, one = bandwidth.twins, bandwidth.instance
    first, second = sorted(map(uuid_of, ("first", "second")))

    def arrange() -> None:
        twins.hold(one)
        bandwidth.ports(sorted(["first", "second"], key=uuid_of))
        twins.neutron.refusing = {second}
        twins.neutron.once_only = {first}

    both = twins.both(*HEAL, "--instance", one.uuid, arrange=arrange)
    assert both.ours.code == both.nova.code == 7
    assert "automatic rollback of the previously successful port updates also" in both.ours.out
    assert "trueup undo" in both.ours.err


@pytest.mark.parametrize("busy", [1, 99])
def test_both_or_neither_when_a_proxy_answers_503_for_the_second_port(
    bandwidth: Bandwidth, busy: int
) -> None:
    twins, one = bandwidth.twins, bandwidth.instance
    second = max(map(uuid_of, ("first", "second")))
    twins.keep_alive()
    twins.hold(one)
    bandwidth.ports(sorted(["first", "second"], key=uuid_of))
    twins.neutron.busy = {second: busy}
    healed = twins.ours(*HEAL, "--instance", one.uuid)
    profiles = twins.neutron.profiles()
    assert "rollback" not in healed.out
    if busy == 1:
        assert healed.code == 0, healed.out + healed.err
        assert all(profiles.values())
        assert one.uuid in twins.ledger()
    else:
        assert healed.code == 6, healed.out + healed.err
        assert profiles == {port: {} for port in profiles}
        assert one.uuid not in twins.ledger()


def test_a_port_that_the_instance_does_not_have(bandwidth: Bandwidth, second_bridge: str) -> None:
    twins, one = bandwidth.twins, bandwidth.instance
    twins.keep_alive()
    twins.hold(one, twins.right(one))
    bandwidth.ports(["first"])
    unknown = uuid_of("another")
    ran = twins.ours(*HEAL, "--instance", one.uuid, "--port-provider", f"{unknown}={second_bridge}")
    assert ran.code == 127
    assert f"Port {unknown} of --port-provider is attached to none of the instances" in ran.out
    assert one.uuid in twins.ledger()


def test_a_neutron_that_does_not_answer(bandwidth: Bandwidth) -> None:
    twins, one = bandwidth.twins, bandwidth.instance

    def arrange() -> None:
        twins.hold(one)
        twins.neutron.silent = True

    both = twins.both(*HEAL, arrange=arrange)
    assert both.ours.code == both.nova.code == 5
    assert both.ledgers[1] == both.ledgers[0]
    # What a client tells of the same answer is its own.
    untold = [printed.out.rpartition(": ")[0] for printed in (both.nova, both.ours)]
    assert "Unable to query ports for instance" in untold[0]
    assert both.ours.out.startswith(untold[0].rpartition(": ")[0])


def test_a_port_that_several_providers_could_give(bandwidth: Bandwidth, second_bridge: str) -> None:
    """What Nova's command left undone: it names the choices, and can be told."""
    twins, one = bandwidth.twins, bandwidth.instance

    def arrange() -> None:
        twins.hold(one, twins.right(one))
        bandwidth.ports(["first"])

    words = (*HEAL, "--instance", one.uuid)
    both = twins.both(*words, arrange=arrange)
    same(both)
    assert both.ours.code == 3
    assert "br0" in both.ours.err
    assert "br1" in both.ours.err
    chosen = f"{uuid_of('first')}={second_bridge}"
    healed = twins.ours(*words, "--port-provider", chosen)
    assert healed.code == 0
    assert twins.ledger()[one.uuid][0][second_bridge] == AMOUNTS
    [profile] = twins.neutron.profiles().values()
    assert profile == {"allocation": {uuid_of("group of first"): second_bridge}}


def test_a_port_that_no_provider_gives(twins: Twins) -> None:
    bandwidth = Bandwidth(twins, twins.actives()[0])

    def arrange() -> None:
        bandwidth.ports(["first"])

    both = twins.both(*HEAL, "--instance", bandwidth.instance.uuid, arrange=arrange)
    same(both)
    assert both.ours.code == 3
