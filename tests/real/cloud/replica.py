# SPDX-License-Identifier: Apache-2.0
"""A replica of the cells' databases, in a MariaDB of its own, that can fall behind."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy
from sqlalchemy.pool import NullPool

from tests.real.cloud import dumps
from tests.real.cloud.openstack import Cloud
from tests.real.cloud.processes import wait_until
from tests.real.cloud.site import CELLS
from tests.servers.databases import DatabaseServer, as_text
from tests.servers.mariadb import private_mariadb

REPLICATED = tuple(f"nova_{cell}" for cell in CELLS)
# The primary is not told to write its accounts' statements: each server has its own password.
_FILTER = tuple(f"--replicate-do-db={name}" for name in REPLICATED)


@dataclass(frozen=True)
class Replica:
    """A replica, and the options that let Trueup read it in place of the cells' databases."""

    server: DatabaseServer

    @property
    def options(self) -> tuple[str, ...]:
        urls = {cell: self.server.url.set(database=f"nova_{cell}") for cell in CELLS}
        return tuple(f"--cell-database={cell}={as_text(url)}" for cell, url in urls.items())

    def stand_still(self) -> None:
        """From now on it receives what the primary writes, and shows none of it."""
        self.server.execute("STOP REPLICA SQL_THREAD")

    def has_caught_up(self) -> bool:
        engine = sqlalchemy.create_engine(self.server.url, poolclass=NullPool)
        with engine.connect() as connection:
            [row] = connection.exec_driver_sql("SHOW REPLICA STATUS").mappings().all()
        return row["Seconds_Behind_Master"] == 0


@contextlib.contextmanager
def replica_of(cloud: Cloud) -> Iterator[Replica]:
    """A replica that follows the primary."""
    with private_mariadb(("--server-id=2", *_FILTER)) as server:
        dumps.copy(cloud.server.url, [*dumps.AT_ONE_MOMENT, *REPLICATED], server.url)
        primary = cloud.server.url
        server.execute(
            f"CHANGE MASTER TO MASTER_HOST='{primary.host}', MASTER_PORT={primary.port}, "
            f"MASTER_USER='{primary.username}', MASTER_PASSWORD='{primary.password}', "
            "MASTER_USE_GTID=slave_pos"
        )
        server.execute("START REPLICA")
        replica = Replica(server)
        wait_until(replica.has_caught_up, "the replica has caught up")
        yield replica
        server.execute("STOP REPLICA")
