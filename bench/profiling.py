# SPDX-License-Identifier: Apache-2.0
"""Show where the time of a request goes in Trueup, called in this process without a server.

    python -m bench.profiling --database postgresql --operations claim get_usages

For each operation it prints processor time and SQL statements of a request, the shares of the
libraries, and the functions that use most time themselves. The shares are of processor time too;
they come from a profiler, which overestimates small functions.
"""

import argparse
import asyncio
import collections
import contextlib
import cProfile
import fnmatch
import io
import pstats
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

import sqlalchemy

from bench import cloud
from bench.client import Client, Reply
from bench.loading import load
from bench.reads import READS, Read
from bench.services import DATABASES, running_database
from bench.session import Session
from bench.writes import WRITES, Write
from trueup.placement import app

_WARM = 5
# The first entry whose text occurs in the path of a file or the name of a C function applies.
_PARTS = {
    "waiting for the database": ("recv_into", "'recv' of", "readinto", "sendall", "pq/", "sqlite3"),
    "driver": ("pymysql", "psycopg"),
    "sqlalchemy": ("sqlalchemy",),
    "falcon": ("falcon",),
    "oslo": ("oslo_", "microversion_parse", "/logging/"),
    "schemas": ("jsonschema", "fastjsonschema", "referencing", "rpds", "jsonschema_specifications"),
    "trueup store": ("placement/store",),
    "trueup index": ("placement/index", "numpy"),
    "trueup": ("trueup",),
}


class InProcess(Client):
    """Calls an application as a server would, and profiles it if requested."""

    def __init__(self, application: Any):
        super().__init__(0, keeps_alive=True)
        self._application = application
        self.profiler: cProfile.Profile | None = None
        self.processor_times: list[float] = []

    async def request(
        self, method: str, path: str, body: bytes | None = None, microversion: str = "latest"
    ) -> Reply:
        environ = environ_of(method, path, body, microversion)
        statuses: list[int] = []
        profiler = self.profiler or contextlib.nullcontext()
        began, used = perf_counter(), process_time()
        with profiler:
            parts = self._application(
                environ, lambda status, *_: statuses.append(int(status.split()[0]))
            )
            answer = b"".join(parts)
        self.processor_times.append(process_time() - used)
        return Reply(statuses[0], answer, perf_counter() - began)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    every: tuple[Read | Write, ...] = (*READS, *WRITES)
    with running_database(options.database) as database:
        drawn = cloud.draw(options.shape, options.hosts)
        url = database.new_url("profiled")
        load(url, drawn)
        application = app.make_app(url, {"api": {"auth_strategy": "noauth2"}})
        client = InProcess(application)
        session = Session(drawn, lambda: client)
        statements = _log_statements()
        for operation in every:
            if any(fnmatch.fnmatch(operation.name, one) for one in options.operations):
                report = _profile(operation, session, client, statements, options.requests)
                sys.stdout.write(asyncio.run(report))
        application.close()
    return 0


async def _profile(
    operation: Read | Write,
    session: Session,
    client: InProcess,
    statements: list[str],
    requests: int,
) -> str:
    await _drive(operation, session, client, _WARM)
    client.processor_times.clear()
    await _drive(operation, session, client, requests)
    measured = client.processor_times[-requests:]
    statements.clear()
    await _drive(operation, session, client, 1)
    seen = list(statements)
    client.profiler = cProfile.Profile(thread_time)
    await _drive(operation, session, client, requests)
    profiler, client.profiler = client.profiler, None
    lines = [
        f"\n{operation.name}: {1000 * sum(measured) / requests:.2f} ms of processor time,"
        f" {len(seen)} statements",
        *(f"    {statement[:150]}" for statement in seen),
        *_shares(pstats.Stats(profiler)),
        *_slowest(pstats.Stats(profiler), requests),
    ]
    return "\n".join(lines) + "\n"


async def _drive(
    operation: Read | Write, session: Session, client: InProcess, requests: int
) -> None:
    """Send that many requests. Their preparation is not profiled."""
    for _ in range(requests):
        if isinstance(operation, Read):
            path = operation.draw(session.cloud, session.random)
            await client.request("GET", path, microversion=operation.microversion)
            continue
        if await operation.step(session, client) is None:
            profiler, client.profiler = client.profiler, None
            await operation.prepare(session, client)
            client.profiler = profiler
            await operation.step(session, client)


def _shares(stats: Any) -> list[str]:
    own: collections.Counter[str] = collections.Counter()
    for where, (_, _, seconds, _, callers) in stats.stats.items():
        part = _part_of(where)
        if part == "the rest" and where[0] == "~" and callers:
            # The time of C functions counts for their callers.
            for caller, figures in callers.items():
                own[_part_of(caller)] += figures[2]
        else:
            own[part] += seconds
    total = sum(own.values())
    return ["  " + ", ".join(f"{part} {100 * t / total:.0f} %" for part, t in own.most_common())]


def _slowest(stats: Any, requests: int) -> list[str]:
    found = sorted(stats.stats.items(), key=lambda item: -item[1][2])[:12]
    return [
        f"  {1000 * seconds / requests:7.3f} ms own, {1000 * below / requests:7.3f} with callees,"
        f" {calls / requests:5.1f} calls  {'/'.join(Path(file).parts[-2:])}:{line} {name}"
        for (file, line, name), (_, calls, seconds, below, _) in found
    ]


def _part_of(where: tuple[str, int, str]) -> str:
    text = f"{where[0]} {where[2]}"
    for part, signs in _PARTS.items():
        if any(sign in text for sign in signs):
            return part
    return "the rest"


def _log_statements() -> list[str]:
    """All SQL statements from now on, of every engine: the service has one or two."""
    seen: list[str] = []

    @sqlalchemy.event.listens_for(sqlalchemy.Engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(" ".join(statement.split()))

    for what in ("commit", "rollback"):
        sqlalchemy.event.listen(
            sqlalchemy.Engine, what, lambda _, what=what: seen.append(what.upper())
        )
    return seen


def environ_of(method: str, path: str, body: bytes | None, microversion: str) -> dict[str, Any]:
    """The WSGI environment of a request of an administrator."""
    path, _, query = path.partition("?")
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SCRIPT_NAME": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost",
        "HTTP_ACCEPT": "application/json",
        "HTTP_X_AUTH_TOKEN": "admin",
        "HTTP_OPENSTACK_API_VERSION": f"placement {microversion}",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body or b""),
        "wsgi.errors": sys.stderr,
    }
    if body is not None:
        environ |= {"CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
    return environ


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.profiling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--database", choices=DATABASES, default="mariadb")
    add("--hosts", type=int, default=100)
    add("--shape", choices=cloud.SHAPES, default="flat")
    add("--operations", nargs="+", default=["*"], metavar="PATTERN")
    add("--requests", type=int, default=100)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
