# SPDX-License-Identifier: Apache-2.0
"""Services that die by SIGKILL, and come back."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.real.cloud.openstack import Cloud
from tests.real.cloud.processes import wait_until
from tests.real.cloud.rabbitmq import restart_rabbitmq
from tests.real.cloud.site import CELL_OF_COMPUTE, CELLS
from tests.servers.databases import answers
from tests.servers.processes import ServerProgram, start, stop, unprivileged_account

SECONDS_TO_RECOVER = 240
CONDUCTORS = ("nova-conductor", *(f"nova-conductor-{cell}" for cell in CELLS))
Revival = Callable[[], None]


class Deaths:
    """Each kind takes a name, kills it at once, and gives what brings it back."""

    def __init__(self, cloud: Cloud):
        self._cloud = cloud
        self._database: subprocess.Popen | None = None

    def kinds(self) -> dict[str, Callable[[], Revival]]:
        kinds: dict[str, Callable[[], Revival]] = {
            "rabbitmq": self._rabbitmq,
            "mariadb": self._mariadb,
            "placement's workers": self._workers,
        }
        kinds |= {f"nova-compute-{host}": self._compute(host) for host in CELL_OF_COMPUTE}
        return kinds | {name: self._service(name) for name in (*CONDUCTORS, "nova-scheduler")}

    def end(self) -> None:
        """The database server that was started here."""
        if self._database is not None:
            stop(self._database, signal.SIGTERM)

    def _compute(self, host: str) -> Callable[[], Revival]:
        def kill() -> Revival:
            self._cloud.processes.kill(f"nova-compute-{host}")
            return lambda: self._cloud.start_computes(host)

        return kill

    def _service(self, name: str) -> Callable[[], Revival]:
        def kill() -> Revival:
            self._cloud.processes.kill(name)
            return lambda: self._cloud.start_service(name)

        return kill

    def _rabbitmq(self) -> Revival:
        self._cloud.processes.kill("rabbitmq")
        return lambda: restart_rabbitmq(self._cloud.site, self._cloud.processes)

    def _workers(self) -> Revival:
        """uWSGI's master replaces them by itself."""
        master = self._cloud.processes.pid("placement-trueup")
        for child in Path(f"/proc/{master}/task/{master}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        return lambda: None

    def _mariadb(self) -> Revival:
        url = self._cloud.server.url
        [[file]] = self._cloud.sql("placement", "SELECT @@pid_file")
        process = int(Path(file).read_text())
        command = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")[:-1]
        os.kill(process, signal.SIGKILL)
        if self._database is not None:
            self._database.wait()
        program = ServerProgram(
            command=lambda _: command,
            ready=lambda _: answers(url),
            log=Path(file).parents[1] / "server.log",
            account=unprivileged_account("mysql"),
        )

        def revive() -> None:
            self._database = start(program, url.port)
            wait_until(lambda: answers(url), "MariaDB answers")

        return revive


@contextlib.contextmanager
def deaths_in(cloud: Cloud) -> Iterator[Deaths]:
    deaths = Deaths(cloud)
    try:
        yield deaths
    finally:
        deaths.end()


def all_report(cloud: Cloud) -> None:
    """Return when every nova-compute has reported since now, so that the whole cloud works."""
    before = cloud.report_counts()
    wait_until(
        lambda: all(now > before[host] for host, now in cloud.report_counts().items()),
        "every host reports",
        SECONDS_TO_RECOVER,
    )
