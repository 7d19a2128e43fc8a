# SPDX-License-Identifier: Apache-2.0
"""Every web server that the pages show starts as shown, and keeps the connections of clients."""

import http.client
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.deployment.apache import apache, python_path
from tests.deployment.processes import SCRIPTS, server
from tests.deployment.test_web_servers import ADMIN, written
from tests.servers.placement import REPOSITORY
from tests.servers.processes import private_folder
from trueup.placement.store import schema

REQUESTS = max(2000, int(os.environ.get("TRUEUP_ROUNDS", "0")) * 5)
PAGES = ("swap-in-place.md", "serve.md")
FIRST_WORDS = ("[uwsgi]", "Listen ", "granian ", "trueup serve")
PATHS = ("/", "/resource_classes/VCPU", "/allocation_candidates?resources=VCPU:1")


def samples() -> list[str]:
    """The indented blocks of the pages that start a server."""
    text = "\n".join((REPOSITORY / "docs" / "service" / page).read_text() for page in PAGES)
    blocks = re.findall(r"^(?:    .+\n)+", text, re.MULTILINE)
    shown = [re.sub(r"^    ", "", block, flags=re.MULTILINE).strip() for block in blocks]
    return [one for one in shown if one.startswith(FIRST_WORDS)]


def command(sample: str, folder: Path, names: Path) -> Callable[[int], Sequence[str]]:
    """How to start it on a port of ours, with what is installed here; the rest is as shown."""

    def started(port: int) -> Sequence[str]:
        if sample.startswith("Listen"):
            own = sample.replace("127.0.0.1:8778", f"127.0.0.1:{port}")
            assert own.count(str(port)) == 2
            return apache(own.replace("/usr/bin", str(names / "bin")), folder)
        if sample.startswith("[uwsgi]"):
            file = folder / "placement.ini"
            file.write_text(sample.replace("127.0.0.1:8778", f"127.0.0.1:{port}"))
            assert str(port) in file.read_text()
            return [str(SCRIPTS / "uwsgi"), "--ini", str(file)]
        program, *words = sample.split()
        return [str(SCRIPTS / program), *words, "--port", str(port)]

    return started


def test_the_pages_show_four_servers() -> None:
    assert [one.split()[0] for one in samples()] == ["[uwsgi]", "Listen", "granian", "trueup"]


@pytest.mark.parametrize("sample", samples(), ids=lambda one: one.split()[0].strip("[]"))
def test_a_sample_serves_clients_that_keep_connections(
    sample: str, names: Path, fresh_database: Callable[[str], str], tmp_path: Path
) -> None:
    url = fresh_database("sqlite")
    schema.create(url)
    environment = written(tmp_path, url) | python_path(names)
    with (
        private_folder("sample", None) as folder,
        server(command(sample, folder, names), tmp_path, environment) as placement,
    ):
        connection = http.client.HTTPConnection("127.0.0.1", placement.port, timeout=60)
        headers = {name.replace("_", "-"): value for name, value in ADMIN.items()}
        for number in range(REQUESTS):
            # It opens another connection only if the last answer said that this one is closed.
            connection.request("GET", PATHS[number % len(PATHS)], headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, placement.log.read_text()
        connection.close()
