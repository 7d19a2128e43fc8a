# SPDX-License-Identifier: Apache-2.0
"""What heal_allocations prints: it goes on where Nova's ends."""

import pytest

from tests.cli.nova_manage.twins import Twins

pytestmark = pytest.mark.xdist_group("nova-manage")

HEAL = "heal_allocations"


def test_after_an_instance_that_cannot_be_healed_the_others_are(twins: Twins) -> None:
    """Nova's command ends at the first."""
    one, other = twins.actives()[:2]

    def arrange() -> None:
        twins.hold(one)
        twins.hold(other)
        twins.change(one, node="nowhere")

    both = twins.both(HEAL, "--verbose", arrange=arrange)
    assert both.ours.code == both.nova.code == 2
    assert other.uuid not in both.ledgers[0]
    assert other.uuid in both.ledgers[1]
    assert both.ours.out.startswith(both.nova.out)


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

    both = twins.both(HEAL, *words, arrange=arrange)
    assert both.ours.code == 0, both.ours.out + both.ours.err
    assert both.ours.out == both.nova.out
    assert [held(twins, one) for one in every] == before
    assert before[1] == {move.source.uuid: move.resources_at_source()}


def held(twins: Twins, consumer: str) -> dict[str, dict[str, int]]:
    found = twins.cloud.placement.get(f"/allocations/{consumer}")["allocations"]
    return {uuid: row["resources"] for uuid, row in found.items()}
