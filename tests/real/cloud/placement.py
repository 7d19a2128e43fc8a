# SPDX-License-Identifier: Apache-2.0
"""The two Placement services, upstream's and ours, behind the one URL of the catalog.

Ours is started as docs/service/swap-in-place.md says, word by word: the page's own uWSGI file.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.real.cloud.balancer import Balancer
from tests.real.cloud.processes import Processes, answers_http, run, wait_until
from tests.real.cloud.site import HOST, Site, program
from tests.real.cloud.web import uwsgi_command
from tests.tree import REPOSITORY

KINDS = ("upstream", "trueup")
PAGE = REPOSITORY / "docs" / "service" / "swap-in-place.md"


@dataclass(frozen=True)
class Release:
    """How another release of upstream's Placement is started on a port."""

    command: Callable[[int], Sequence[object]]
    variables: Mapping[str, str]


class PlacementServices:
    """Which of the two serves, and how one takes over from the other."""

    def __init__(self, site: Site, processes: Processes, balancer: Balancer):
        self._site = site
        self._processes = processes
        self._balancer = balancer
        self.serving: str | None = None
        # An older release of upstream's, in place of the one in our environment.
        self.release: Release | None = None

    def swap_to(self, kind: str) -> None:
        """The other one serves until this one does. Requests under way are answered."""
        if kind == self.serving:
            return
        if kind == "trueup":
            self.manage("trueup", "db", "sync")
        before = self.serving
        self.start(kind)
        if before is not None:
            self._processes.stop(_process(before))

    def start(self, kind: str) -> None:
        name = _process(kind)
        port = self._site.ports[name]
        command = _trueup(self._site) if kind == "trueup" else _upstream(self._site)
        environment = self._environment
        if kind == "upstream" and self.release is not None:
            command, environment = (
                self.release.command(port),
                environment | dict(self.release.variables),
            )
        self._processes.start(name, command, environment)
        wait_until(lambda: answers_http(port), f"{name} answers")
        self._balancer.send_to(port)
        self.serving = kind

    def stop(self) -> None:
        assert self.serving is not None
        self._processes.stop(_process(self.serving))
        self.serving = None

    @contextlib.contextmanager
    def unreachable(self) -> Iterator[None]:
        """Whoever asks Placement meets a closed port. It runs on, and is reached at the end."""
        assert self.serving is not None
        [other] = [kind for kind in KINDS if kind != self.serving]
        self._balancer.send_to(self._site.ports[_process(other)])
        try:
            yield
        finally:
            self._balancer.send_to(self._site.ports[_process(self.serving)])

    def manage(self, kind: str, *words: str) -> str:
        """What `placement-manage` of that kind prints; both have the name."""
        environment = "openstack" if kind == "upstream" else "trueup"
        file = ("--config-file", self._site.configuration("placement", "placement.conf"))
        command = [program(environment, "placement-manage"), *file, *words]
        return run(command, self._environment).stdout

    @property
    def _environment(self) -> dict[str, str]:
        folder = self._site.configuration("placement")
        return self._site.client_environment | {"OS_PLACEMENT_CONFIG_DIR": str(folder)}


def _process(kind: str) -> str:
    return f"placement-{kind}"


def _upstream(site: Site) -> Sequence[object]:
    return uwsgi_command(site.ports["placement-upstream"], "placement.wsgi.api")


def _trueup(site: Site) -> Sequence[object]:
    file = site.configuration("placement", "uwsgi.ini")
    address = f"{HOST}:{site.ports['placement-trueup']}"
    file.write_text(f"{documented_uwsgi_file()}\nhttp-socket = {address}\n")
    return [program("trueup", "uwsgi"), "--ini", str(file)]


def documented_uwsgi_file() -> str:
    """The sample of the page, without the socket, which each site has its own of."""
    indented = re.search(r"^    \[uwsgi\]\n(    .*\n)+", PAGE.read_text(), re.MULTILINE)
    assert indented, f"{PAGE.name} shows no uWSGI file"
    lines = [line.strip() for line in indented[0].splitlines()]
    return "\n".join(line for line in lines if not re.match(r"(http-)?socket\b", line))
