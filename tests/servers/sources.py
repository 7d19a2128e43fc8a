# SPDX-License-Identifier: Apache-2.0
"""Where a database server comes from: one named in the environment, or a private one."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlalchemy.engine import make_url

from tests.servers.databases import DatabaseServer
from tests.servers.mariadb import private_mariadb
from tests.servers.postgresql import private_postgresql

VARIABLES = {
    "mariadb": "TRUEUP_TEST_MARIADB_URL",
    "postgresql": "TRUEUP_TEST_POSTGRESQL_URL",
}
PRIVATE = {"mariadb": private_mariadb, "postgresql": private_postgresql}
KINDS = ("sqlite", *VARIABLES)
# PERF: for each connection PyMySQL would read the authorities of the whole system, which takes
# 20 ms of the processor; the private server speaks no TLS.
WITHOUT_TLS: Mapping[str, Mapping[str, str]] = {
    "mariadb": {"ssl_disabled": "true"},
    "postgresql": {},
}
MYSQLCLIENT = "mysqldb"
"""The name of a driver, for tests that run with MariaDB a second time."""


@contextlib.contextmanager
def database_server(kind: str) -> Iterator[DatabaseServer]:
    """ProgramMissing when nobody named a server and there is none to start."""
    named = os.environ.get(VARIABLES[kind])
    if named:
        yield DatabaseServer(make_url(named)._replace(database=None))
    else:
        with PRIVATE[kind]() as server:
            url = server.url.update_query_dict(WITHOUT_TLS[kind])
            yield replace(server, url=url)
