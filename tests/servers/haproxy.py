# SPDX-License-Identifier: Apache-2.0
"""A private HAProxy before the nodes of a cluster: one is the writer, the next one takes over."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy.engine import URL

from tests.servers.databases import DatabaseServer, answers
from tests.servers.processes import ServerProgram, find_program, private_folder, serving

PACKAGE = "haproxy"
CONFIGURATION = Path(__file__).parents[2] / "docs" / "service" / "databases.md"
"""What the page shows is what is tested."""


@contextlib.contextmanager
def haproxy_before(urls: Sequence[URL]) -> Iterator[URL]:
    """The same account at the proxy's port."""
    program = find_program("haproxy", PACKAGE, "/usr/sbin")
    DatabaseServer(urls[0]).execute("CREATE USER IF NOT EXISTS haproxy@'%'")
    with private_folder("haproxy", None) as folder:

        def command(port: int) -> tuple[str, ...]:
            file = folder / "haproxy.cfg"
            file.write_text(_configured(port, [url.port for url in urls]))
            return (program, "-db", "-f", str(file))

        started = ServerProgram(
            command=command,
            ready=lambda port: answers(urls[0].set(port=port)),
            log=folder / "server.log",
        )
        with serving(started) as port:
            yield urls[0].set(port=port)


def _configured(port: int, servers: Sequence[int | None]) -> str:
    """The page's configuration, with our ports."""
    page = CONFIGURATION.read_text()
    shown = page.partition("    listen galera\n")[2].partition("\n\n")[0]
    lines = ["defaults", "    mode tcp", "    timeout connect 5s", "listen galera"]
    lines += [line.strip() for line in shown.splitlines()]
    text = "\n".join(lines).replace("192.0.2.10:3306", f"127.0.0.1:{port}")
    for number, one in enumerate(servers, 1):
        text = text.replace(f"192.0.2.{10 + number}:3306", f"127.0.0.1:{one}")
    return f"{text}\n"
