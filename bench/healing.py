# SPDX-License-Identifier: Apache-2.0
"""Nova's `nova-manage placement heal_allocations` and Trueup's, in turns on the same databases.

    python -m bench.healing --instances 400

makes a small cloud with Nova's databases, a Placement service and a Neutron, and runs both programs
in processes of their own: first with nothing missing, then with every allocation missing. The time
of a run of one instance (start-up, configuration, connections) is taken off; what is left is
divided by the number of instances. The ratio is Nova's time divided by Trueup's.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

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
        _compare("nothing missing", twins, options.instances, lambda: None)
        _compare("all missing", twins, len(held), lambda: _lose(twins, held))
    return 0


def _compare(name: str, twins: Twins, count: int, arrange: Callable[[], None]) -> None:
    """Run both programs after arranging the same, and print what an instance takes."""
    one = twins.actives()[0].uuid
    took = {}
    for program, run in (("Nova", _nova), ("Trueup", _trueup)):
        arrange()
        alone = run(twins, ["--instance", one])
        arrange()
        took[program] = max(run(twins, []) - alone, 0.001) * 1000 / count
    ratio = took["Nova"] / took["Trueup"]
    figures = ", ".join(f"{program} {spent:.2f} ms" for program, spent in took.items())
    say(f"{name}: {figures} for each instance; ratio {ratio:.0f} (goal: {GOAL_RATIO})")


def _lose(twins: Twins, instances: Sequence[Instance]) -> None:
    for instance in instances:
        twins.hold(instance)


def _nova(twins: Twins, words: list[str]) -> float:
    twins.keep_alive()
    line = ["--config-file", str(twins.cloud.nova_conf), "placement", "heal_allocations", *words]
    started = time.monotonic()
    ran = twins.nova.run(line, [])
    spent = time.monotonic() - started
    assert ran.code in (0, 4), ran
    return spent


def _trueup(twins: Twins, words: list[str]) -> float:
    twins.keep_alive()
    conf = ["--config-file", str(twins.cloud.nova_conf)]
    line = ["nova-manage", *conf, "placement", "heal_allocations", *words]
    started = time.monotonic()
    ran = subprocess.run(
        [Path(sys.executable).parent / "trueup", *line],
        env={**os.environ, "TRUEUP_STATE_DIR": str(twins.cloud.folder / "state")},
        capture_output=True,
        check=False,
    )
    spent = time.monotonic() - started
    assert ran.returncode in (0, 4), ran
    return spent


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.healing", description=__doc__)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--instances", type=int, default=400)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
