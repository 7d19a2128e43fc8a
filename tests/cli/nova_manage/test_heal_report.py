# SPDX-License-Identifier: Apache-2.0
"""What heal_allocations prints: it goes on where Nova's ends."""

import pytest

from tests.cli.nova_manage.twins import Twins

pytestmark = pytest.mark.xdist_group("nova-manage")

HEAL = "heal_allocations"


def test_after_an_instance_that_cannot_be_healed_the_others_are(twins: Twins) -> None:
    """Drift A.2 b: Nova's command ends at the first."""
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
