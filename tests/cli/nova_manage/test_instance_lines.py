# SPDX-License-Identifier: Apache-2.0
"""What heal_allocations says of each instance, beside Nova 34's own command."""

from collections.abc import Iterator

import pytest

from tests.cli.nova_manage.bandwidth import AMOUNTS, Bandwidth, uuid_of
from tests.cli.nova_manage.twins import Twins, results, same

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
    assert "Unable to update ports with allocations" in both.ours.out


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
    assert f"the affected ports ['{first}'] are" in both.ours.out
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
    assert "also failed" not in healed.out
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


def test_a_choice_for_a_port_that_requests_nothing_or_is_of_another_instance(
    bandwidth: Bandwidth, second_bridge: str
) -> None:
    twins, one, other = bandwidth.twins, bandwidth.instance, bandwidth.twins.actives()[1]
    twins.keep_alive()
    bandwidth.ports(["first", "second", "third"])
    second, third = (twins.neutron.ports[uuid_of(name)] for name in ("second", "third"))
    second["resource_request"] = None
    third["device_id"] = other.uuid
    for port in (second, third):
        twins.hold(one)
        chosen = f"{port['id']}={second_bridge}"
        ran = twins.ours(*HEAL, "--instance", one.uuid, "--port-provider", chosen)
        assert ran.code == 127, ran.out
        assert f"Port {port['id']} of --port-provider is attached to none of" in ran.out
        assert one.uuid not in twins.ledger()


def test_a_chosen_provider_that_does_not_suit(bandwidth: Bandwidth) -> None:
    """Nothing is written against an operator's word, though only one provider suits."""
    twins, one = bandwidth.twins, bandwidth.instance
    twins.keep_alive()
    twins.hold(one, twins.right(one))
    bandwidth.ports(["first"])
    ran = twins.ours(*HEAL, "--instance", one.uuid, "--port-provider", f"{uuid_of('first')}=br7")
    assert ran.code == 3, ran.out
    assert f"br7, which was chosen for port {uuid_of('first')}, cannot give" in ran.out
    assert twins.neutron.profiles() == {uuid_of("first"): {}}


def test_a_choice_while_neutron_does_not_answer(bandwidth: Bandwidth, second_bridge: str) -> None:
    """What ports there are is not known, so nothing is said of them."""
    twins, one = bandwidth.twins, bandwidth.instance
    twins.hold(one)
    twins.neutron.silent = True
    chosen = f"{uuid_of('first')}={second_bridge}"
    ran = twins.ours(*HEAL, "--instance", one.uuid, "--port-provider", chosen)
    assert ran.code == 5, ran.out
    assert f"Unable to query ports for instance {one.uuid}: " in ran.out


def test_a_neutron_that_does_not_answer(bandwidth: Bandwidth) -> None:
    twins, one = bandwidth.twins, bandwidth.instance

    def arrange() -> None:
        twins.hold(one)
        twins.neutron.silent = True

    both = twins.both(*HEAL, arrange=arrange)
    assert both.ours.code == both.nova.code == 5
    assert both.ledgers[1] == both.ledgers[0]
    assert f"Unable to query ports for instance {one.uuid}: " in both.ours.out


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
    assert "Placement returned more than one possible allocation candidates" in both.ours.out
    assert "br0" in both.ours.out
    assert "br1" in both.ours.out
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
    assert "Placement returned no allocation candidate" in both.ours.out


def test_a_port_that_may_not_be_written_keeps_nobody_else_from_being_healed(
    bandwidth: Bandwidth,
) -> None:
    """Neutron's policy may forbid one port; the other instance is healed all the same."""
    twins, one, other = bandwidth.twins, bandwidth.instance, bandwidth.twins.actives()[1]
    twins.keep_alive()
    twins.hold(one)
    twins.hold(other)
    bandwidth.ports(["first"])
    for status in ("403 Forbidden", "401 Unauthorized"):
        twins.hold(other)
        twins.neutron.refusing = {uuid_of("first")}
        twins.neutron.refusal = status
        ran = twins.ours(*HEAL)
        assert ran.code == 6, ran.out + ran.err
        assert one.uuid not in twins.ledger()
        assert other.uuid in twins.ledger()


def test_a_rollback_goes_on_after_a_port_that_refuses(bandwidth: Bandwidth) -> None:
    """It names exactly the ports that stay written."""
    twins, one = bandwidth.twins, bandwidth.instance
    names = sorted(["first", "second", "third"], key=uuid_of)
    lasting, back, refused = map(uuid_of, names)
    twins.keep_alive()
    twins.hold(one)
    bandwidth.ports(names)
    twins.neutron.refusing = {refused}
    twins.neutron.once_only = {lasting}
    ran = twins.ours(*HEAL, "--instance", one.uuid)
    assert ran.code == 7, ran.out
    assert f"the affected ports ['{lasting}'] are" in ran.out
    profiles = twins.neutron.profiles()
    assert profiles[lasting]
    assert not profiles[back]
    assert not profiles[refused]
    assert one.uuid not in twins.ledger()


def test_what_ports_request_and_the_owner_are_healed_in_one_call(bandwidth: Bandwidth) -> None:
    twins, one = bandwidth.twins, bandwidth.instance

    def arrange() -> None:
        twins.hold(one, twins.right(one), project="nobody", user="nobody")
        bandwidth.ports(["first"])

    both = twins.both(*HEAL, "--instance", one.uuid, arrange=arrange)
    same(both)
    assert both.ours.code == 0
    assert twins.ledger()[one.uuid][1:] == (one.tenant.project_id, one.tenant.user_id)


def test_after_an_instance_that_cannot_be_healed_the_others_are(twins: Twins) -> None:
    """Nova's command ends at the first."""
    one, other = twins.actives()[:2]

    def arrange() -> None:
        twins.hold(one)
        twins.hold(other)
        twins.change(one, node="nowhere")

    both = twins.both("heal_allocations", "--verbose", arrange=arrange)
    assert both.ours.code == both.nova.code == 2
    assert other.uuid not in both.ledgers[0]
    assert other.uuid in both.ledgers[1]
    assert "could not be found." in both.ours.out


def test_what_the_migration_of_a_resize_lost_is_healed_too(twins: Twins) -> None:
    """Migration-based allocations would be lost if they are deleted during a resize."""
    move = next(one for one in twins.cloud.blueprint.open_moves if one.status == "finished")
    words = ("--verbose", "--instance", move.instance.uuid)
    every = (move.instance.uuid, move.uuid)
    before = [held(twins, one) for one in every]

    def arrange() -> None:
        for one in every:
            if held(twins, one):
                generation = twins.cloud.placement.get(f"/allocations/{one}")["consumer_generation"]
                twins.cloud.placement.put(
                    f"/allocations/{one}",
                    {
                        "allocations": {},
                        "project_id": move.instance.tenant.project_id,
                        "user_id": move.instance.tenant.user_id,
                        "consumer_generation": generation,
                    },
                )

    both = twins.both("heal_allocations", *words, arrange=arrange)
    assert both.ours.code == 0, both.ours.out + both.ours.err
    assert results(both.ours.out) >= results(both.nova.out)
    assert [held(twins, one) for one in every] == before
    assert before[1] == {move.source.uuid: move.resources_at_source()}


def held(twins: Twins, consumer: str) -> dict[str, dict[str, int]]:
    found = twins.cloud.placement.get(f"/allocations/{consumer}")["allocations"]
    return {uuid: row["resources"] for uuid, row in found.items()}
