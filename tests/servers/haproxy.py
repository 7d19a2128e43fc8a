# SPDX-License-Identifier: Apache-2.0
"""A private HAProxy, configured as the pages show it.

Before the nodes of a cluster: one is the writer, the next one takes over. Before a service: it
reads each request whole before the service does.
"""

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from sqlalchemy.engine import URL

from tests.servers.databases import DatabaseServer, answers
from tests.servers.processes import (
    ProgramMissing,
    ServerProgram,
    find_program,
    private_folder,
    serving,
)
from tests.servers.skipping import skip_without

PACKAGE = "haproxy"
_PAGES = Path(__file__).parents[2] / "docs" / "service"
"""What the pages show is what is tested."""


@contextlib.contextmanager
def haproxy_before(urls: Sequence[URL]) -> Iterator[URL]:
    """The same account at the proxy's port."""
    DatabaseServer(urls[0]).execute("CREATE USER IF NOT EXISTS haproxy@'%'")
    servers = {f"192.0.2.{10 + number}:3306": url.port for number, url in enumerate(urls, 1)}
    with _haproxy(
        lambda port: _configured("databases.md", "galera", {"192.0.2.10:3306": port, **servers}),
        lambda port: answers(urls[0].set(port=port)),
    ) as port:
        yield urls[0].set(port=port)


@contextlib.contextmanager
def haproxy_before_service(service: int) -> Iterator[int]:
    """The proxy's port."""
    addresses = {"127.0.0.1:8778": service}
    with _haproxy(
        lambda port: _configured(
            "swap-in-place.md", "placement", {"192.0.2.10:8778": port, **addresses}
        ),
        _accepts,
    ) as port:
        yield port


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@contextlib.contextmanager
def _haproxy(configured: Callable[[int], str], ready: Callable[[int], bool]) -> Iterator[int]:
    try:
        program = find_program("haproxy", PACKAGE, "/usr/sbin")
    except ProgramMissing as missing:
        skip_without(str(missing))
    with private_folder("haproxy", None) as folder:

        def command(port: int) -> tuple[str, ...]:
            file = folder / "haproxy.cfg"
            file.write_text(configured(port))
            return (program, "-db", "-f", str(file))

        started = ServerProgram(command=command, ready=ready, log=folder / "server.log")
        with serving(started) as port:
            yield port


def _configured(page: str, name: str, ports: Mapping[str, int | None]) -> str:
    """The section of a page, with our ports."""
    shown = (_PAGES / page).read_text().partition(f"    listen {name}\n")[2].partition("\n\n")[0]
    mode = "http" if "http" in shown else "tcp"
    lines = ["defaults", f"    mode {mode}", "    timeout connect 5s", f"listen {name}"]
    lines += [line.strip() for line in shown.splitlines()]
    text = "\n".join(lines)
    for address, port in ports.items():
        text = text.replace(address, f"127.0.0.1:{port}")
    return f"{text}\n"
