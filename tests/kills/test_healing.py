# SPDX-License-Identifier: Apache-2.0
"""Invariant 10 for heal_allocations: killed between Placement and Neutron, it leaves no half."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.cli.nova_manage.bandwidth import AMOUNTS, Bandwidth
from tests.cli.nova_manage.neutron import NeutronOfNova
from tests.cli.nova_manage.twins import Twins
from tests.cli.running import undo_for_good
from tests.kills.tracing import NEVER, Kill, Traced, Tracing
from trueup.lab.cloud import small_cloud
from trueup.lab.serving import serve
from trueup.reconcile.runs.journals import runs

PORT = "of the instance"


class Healing:
    """An instance whose port requests bandwidth that it does not hold, and a command to heal it."""

    def __init__(self, bandwidth: Bandwidth, tracing: Tracing, folder: Path) -> None:
        self.bandwidth, self._tracing, self._folder = bandwidth, tracing, folder
        self._numbers = count()
        self.bridge = bandwidth.bridge("br-physnet")
        self.state = folder

    def begin(self) -> None:
        """The bandwidth is missing, and there is no journal."""
        twins, instance = self.bandwidth.twins, self.bandwidth.instance
        twins.keep_alive()
        twins.hold(instance, twins.right(instance))
        self.bandwidth.ports([PORT])
        self.state = self._folder / f"state{next(self._numbers)}"

    def run(self, kill: Kill = NEVER) -> Traced:
        conf = str(self.bandwidth.twins.cloud.nova_conf)
        words = ["nova-manage", "--config-file", conf, "placement", "heal_allocations"]
        environment = {"TRUEUP_STATE_DIR": str(self.state)}
        return self._tracing.run(words, environment, kill, command=False)

    def is_complete_at(self, at: int) -> bool:
        """Whether all is written before this call of the system."""
        self.begin()
        assert self.run(Kill(at)).killed
        return self.written == (True, True)

    @property
    def written(self) -> tuple[bool, bool]:
        """Whether Placement gives the bandwidth, and whether Neutron names who gives it."""
        held = self.bandwidth.twins.ledger()[self.bandwidth.instance.uuid][0]
        [port] = self.bandwidth.twins.neutron.ports.values()
        assert held.get(self.bridge, AMOUNTS) == AMOUNTS
        return self.bridge in held, bool(port["binding:profile"])


@pytest.fixture
def healing(tracing: Tracing, tmp_path: Path) -> Iterator[Healing]:
    neutron = NeutronOfNova({})
    with (
        small_cloud(tmp_path / "cloud", hosts=6, instances=24) as cloud,
        serve(neutron.application) as url,
    ):
        text = f"\n[neutron]\nauth_type = admin_token\nendpoint = {url}\ntoken = admin\n"
        cloud.nova_conf.write_text(
            f"{cloud.nova_conf.read_text()}{text}endpoint_override = {url}\n"
        )
        twins = Twins(cloud, None, neutron)
        yield Healing(Bandwidth(twins, twins.actives()[0]), tracing, tmp_path)


@pytest.mark.timeout(600)
def test_invariant_10_healing_that_was_killed_is_completed_or_taken_back(healing: Healing) -> None:
    """Around each of its last requests but those that verify: one writes to Placement, one to
    Neutron."""
    healing.begin()
    whole = healing.run()
    assert (whole.code, healing.written) == (0, (True, True)), whole.output
    sent = [at for at, call in enumerate(whole.calls, 1) if call == "sendto"]
    while healing.is_complete_at(sent[-1]):
        sent.pop()
    half = 0
    for at in sent[-4:]:
        for repair in (completed, undone):
            healing.begin()
            assert healing.run(Kill(at)).killed
            half += healing.written == (True, False)
            repair(healing)
    assert half >= 2, "between the two writes, for each of the repairs"


def completed(healing: Healing) -> None:
    """The same command again."""
    ran = healing.run()
    assert ran.code in (0, 4), ran.output
    assert healing.written == (True, True)
    assert healing.run().code == 4, "nothing is left to heal"


def undone(healing: Healing) -> None:
    for journal in runs(healing.state):
        conf = healing.bandwidth.twins.cloud.nova_conf
        undo_for_good("--nova-conf", conf, "--state-dir", healing.state, journal.run)
    assert healing.written == (False, False)
