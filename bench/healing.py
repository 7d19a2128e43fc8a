# SPDX-License-Identifier: Apache-2.0
"""Nova's `nova-manage placement heal_allocations` and Trueup's, in turns on the same databases.

    python -m bench.healing --instances 400

makes a small cloud with Nova's databases, a Placement service and a Neutron, and runs both programs
in processes of their own: first with nothing missing (a dry run, then a run that may write), then
with every allocation missing. The time of a run of one instance (start-up, configuration,
connections) is taken off; what is left is divided by the number of instances. Three times are
told: by the clock, processor time of the program, and processor time of Placement with Neutron.
The ratio is Nova's time divided by Trueup's; processor time counts also on a busy machine.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from bench.meter import children_of, seconds_used
from bench.terminal import say
from tests.cli.nova_manage.neutron import NeutronOfNova
from tests.cli.nova_manage.nova_program import complete
from tests.cli.nova_manage.twins import Twins, nova_process
from trueup.lab.blueprint import Instance
from trueup.lab.cloud import small_cloud
from trueup.lab.serving import serve

_NEUTRON = """
[neutron]
auth_type = admin_token
endpoint = {url}
endpoint_override = {url}
token = admin
"""
GOAL_RATIO = 200
# Less is not told from nothing: the start-up varies by more.
LEAST_SECONDS = 0.01
Run = Callable[[Twins, list[str]], None]


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock; processor seconds of the program, and of Placement with Neutron."""

    clock: float
    program: float
    services: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the cloud, run both programs, print milliseconds and ratios."""
    options = _options(arguments)
    neutron = NeutronOfNova({})
    with (
        tempfile.TemporaryDirectory() as folder,
        small_cloud(
            Path(folder) / "cloud", hosts=options.hosts, instances=options.instances
        ) as cloud,
        serve(neutron.application) as url,
        nova_process() as nova,
    ):
        cloud.nova_conf.write_text(cloud.nova_conf.read_text() + _NEUTRON.format(url=url))
        twins = Twins(cloud, nova, neutron)
        for database in twins.databases:
            complete(database)
        # Nova's program needs ten seconds before its first command line.
        _nova(twins, ["--instance", twins.actives()[0].uuid])
        held = twins.actives()
        say(f"{len(held)} of {options.instances} instances lose their allocations")
        [novas] = children_of(os.getpid())
        bench = Bench(twins, novas)
        bench.compare("nothing missing, dry run", options.instances, lambda: None, ["--dry-run"])
        bench.compare("nothing missing", options.instances, lambda: None)
        bench.compare("all missing", len(held), lambda: _lose(twins, held))
    return 0


@dataclass(frozen=True)
class Bench:
    """The cloud with both programs, and the process of Nova's."""

    twins: Twins
    novas: int

    def compare(
        self, name: str, count: int, arrange: Callable[[], None], words: Sequence[str] = ()
    ) -> None:
        """Run both programs after arranging the same, and print what an instance takes."""
        one = ["--instance", self.twins.actives()[0].uuid]
        took: list[list[float]] = []
        for run in (_nova, _trueup):
            arrange()
            alone = self._measured(run, [*one, *words])
            arrange()
            every = self._measured(run, list(words))
            more = zip(astuple(every), astuple(alone), strict=True)
            took.append([max(both - start, LEAST_SECONDS) * 1000 / count for both, start in more])
        for kind, nova, ours in zip(("clock", "program", "services"), *took, strict=True):
            say(
                f"{name}, {kind}: Nova {nova:.2f} ms, Trueup {ours:.2f} ms for each instance; "
                f"ratio {nova / ours:.0f} (goal: {GOAL_RATIO})"
            )

    def _measured(self, run: Run, words: list[str]) -> Spent:
        self.twins.keep_alive()
        before = self._now()
        run(self.twins, words)
        after = self._now()
        return Spent(*(late - early for early, late in zip(before, after, strict=True)))

    def _now(self) -> tuple[float, float, float]:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        program = ended.ru_utime + ended.ru_stime + seconds_used(self.novas)
        return time.monotonic(), program, time.process_time()


def _lose(twins: Twins, instances: Sequence[Instance]) -> None:
    for instance in instances:
        twins.hold(instance)


def _nova(twins: Twins, words: list[str]) -> None:
    line = ["--config-file", str(twins.cloud.nova_conf), "placement", "heal_allocations", *words]
    ran = twins.nova.run(line, [])
    assert ran.code in (0, 4), ran


def _trueup(twins: Twins, words: list[str]) -> None:
    conf = ["--config-file", str(twins.cloud.nova_conf)]
    line = ["nova-manage", *conf, "placement", "heal_allocations", *words]
    ran = subprocess.run(
        [Path(sys.executable).parent / "trueup", *line],
        env={**os.environ, "TRUEUP_STATE_DIR": str(twins.cloud.folder / "state")},
        capture_output=True,
        check=False,
    )
    assert ran.returncode in (0, 4), ran


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.healing", description=__doc__)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--instances", type=int, default=400)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
