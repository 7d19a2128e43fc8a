# SPDX-License-Identifier: Apache-2.0
"""A private Galera cluster: three MariaDB nodes on the loopback interface that all take writes.

The nodes replicate to each other as in production. What differs is tuned for tests: nothing is
flushed to the disk, caches are small, and a node that is silent is expelled after seconds.
"""

import contextlib
import secrets
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pymysql
import sqlalchemy
from sqlalchemy.engine import URL

from tests.servers.databases import DatabaseServer
from tests.servers.mariadb import ACCOUNT, CARELESS, PACKAGE, grants, install
from tests.servers.processes import (
    ProgramMissing,
    ServerFailed,
    ServerProgram,
    came_up,
    find_program,
    free_port,
    poll,
    private_folder,
    run_as,
    start,
    stop,
    unprivileged_account,
)

NODES = 3
CLUSTERS_TO_TRY = 2
SECONDS_TO_SETTLE = 60
LIBRARY = Path("/usr/lib/galera/libgalera_smm.so")
TUNED = (
    *CARELESS,
    "--innodb-doublewrite=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=24M",
    "--innodb-autoinc-lock-mode=2",
    "--binlog-format=ROW",
    "--performance-schema=off",
    "--max-connections=100",
    "--skip-name-resolve",
)
PROVIDER = {
    "gcache.size": "8M",
    "gcache.page_size": "4M",
    "gcs.fc_limit": "64",
    # A node that says nothing for so long is no longer a member. Where tests keep all processors
    # busy, a healthy one may well say nothing for a second or two.
    "evs.keepalive_period": "PT0.5S",
    "evs.inactive_check_period": "PT0.5S",
    "evs.suspect_timeout": "PT4S",
    "evs.inactive_timeout": "PT8S",
    "evs.install_timeout": "PT8S",
    "gmcast.peer_timeout": "PT4S",
    # A node that was killed asks the others who they are, instead of its own file.
    "pc.recovery": "false",
}


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a node answers clients, its group, and those who send it the state of the cluster."""

    clients: int = field(default_factory=free_port)
    group: int = field(default_factory=free_port)
    changes: int = field(default_factory=free_port)
    whole_state: int = field(default_factory=free_port)


class GaleraNode:
    """One node, and what can happen to it."""

    def __init__(self, folder: Path, password: str, account: str | None):
        self.ports = Ports()
        self.folder = folder
        self.url = URL.create("mysql+pymysql", ACCOUNT, password, "127.0.0.1", self.ports.clients)
        self._account = account
        self._process: subprocess.Popen | None = None

    @property
    def server(self) -> DatabaseServer:
        return DatabaseServer(self.url, private=True)

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    def start(self, members: Sequence["GaleraNode"]) -> None:
        """Join those members, or found a cluster if there are none. Raises ServerFailed."""
        program = ServerProgram(
            command=lambda _: self._command(members),
            ready=lambda _: self.is_synced(),
            log=self.log,
            account=self._account,
            # Nothing of it is kept.
            stop_signal=signal.SIGKILL,
        )
        self._process = start(program, self.ports.clients)
        if not came_up(self._process, program, self.ports.clients):
            self.kill()
            raise ServerFailed(f"a Galera node:\n{self.log.read_text()[-4000:]}")

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        if self._process is not None:
            stop(self._process, signal.SIGKILL)

    def freeze(self) -> None:
        """Let it stand still; its connections stay open, and nobody answers on them."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on after a freeze."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def isolate(self) -> None:
        """Cut it off from the other nodes; its clients still reach it."""
        self._ask("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")

    def rejoin(self) -> None:
        """Mend what `isolate` cut."""
        self._ask("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")

    def is_synced(self) -> bool:
        """Whether it is a member of the cluster and has applied what the others wrote."""
        return self.status("wsrep_local_state_comment") == "Synced"

    def status(self, name: str) -> str | None:
        """A status variable of the node; None if it does not answer."""
        try:
            rows = self._ask(f"SHOW STATUS LIKE '{name}'")
        except pymysql.err.OperationalError:
            return None
        return rows[0][1] if rows else None

    def _ask(self, statement: str) -> Sequence[Sequence[str]]:
        """By the driver alone: a node without a quorum refuses what SQLAlchemy begins with."""
        connection = pymysql.connect(
            host=self.url.host,
            port=self.ports.clients,
            user=ACCOUNT,
            password=str(self.url.password),
            connect_timeout=2,
            read_timeout=10,
        )
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def _command(self, members: Sequence["GaleraNode"]) -> Sequence[str]:
        group = ",".join(f"127.0.0.1:{one.ports.group}" for one in members)
        options = {
            **PROVIDER,
            "base_host": "127.0.0.1",
            "base_port": str(self.ports.group),
            "gmcast.listen_addr": f"tcp://127.0.0.1:{self.ports.group}",
            "ist.recv_addr": f"127.0.0.1:{self.ports.changes}",
        }
        return (
            find_program("mariadbd", PACKAGE, "/usr/sbin", "/usr/local/sbin"),
            "--no-defaults",
            f"--datadir={self.folder}",
            f"--tmpdir={self.folder.parent}",
            f"--socket={self.folder.with_suffix('.socket')}",
            "--bind-address=127.0.0.1",
            f"--port={self.ports.clients}",
            *TUNED,
            "--wsrep-on=ON",
            f"--wsrep-provider={LIBRARY}",
            f"--wsrep-provider-options={';'.join(f'{k}={v}' for k, v in options.items())}",
            f"--wsrep-cluster-address=gcomm://{group}",
            *(() if members else ("--wsrep-new-cluster",)),
            "--wsrep-cluster-name=trueup",
            f"--wsrep-node-name={self.folder.name}",
            "--wsrep-node-address=127.0.0.1",
            f"--wsrep-sst-receive-address=127.0.0.1:{self.ports.whole_state}",
            "--wsrep-sst-method=rsync",
            "--wsrep-slave-threads=2",
        )


class GaleraCluster:
    """Three nodes. Databases come and go on all of them at once."""

    def __init__(self, nodes: Sequence[GaleraNode]):
        self.nodes = tuple(nodes)

    def urls(self, database_url: str) -> tuple[str, ...]:
        """The same database at each of the nodes."""
        name = sqlalchemy.make_url(database_url).database
        found = (node.url.set(database=name) for node in self.nodes)
        return tuple(url.render_as_string(hide_password=False) for url in found)

    def restart(self, node: GaleraNode) -> None:
        """Start a node that was killed."""
        node.start([one for one in self.nodes if one is not node])

    def is_whole(self) -> bool:
        """Whether all nodes are members of one cluster and have the same state."""
        return all(
            node.status("wsrep_cluster_size") == str(len(self.nodes)) and node.is_synced()
            for node in self.nodes
        )

    def settle(self) -> None:
        """Wait until it is whole. Raises ServerFailed."""
        if not poll(self.is_whole, SECONDS_TO_SETTLE):
            logs = "\n".join(node.log.read_text()[-2000:] for node in self.nodes)
            raise ServerFailed(f"the Galera cluster does not come together:\n{logs}")


@contextlib.contextmanager
def private_galera() -> Iterator[GaleraCluster]:
    """A cluster of its own, on free loopback ports; its files go when it stops."""
    if not LIBRARY.exists():
        raise ProgramMissing(f"{LIBRARY} was not found: install the package galera-4")
    find_program("rsync", "rsync")
    account = unprivileged_account("mysql")
    with private_folder("galera", account) as folder:
        nodes = _founded(folder, account)
        try:
            yield GaleraCluster(nodes)
        finally:
            _end(nodes)


def _founded(folder: Path, account: str | None) -> Sequence[GaleraNode]:
    for attempt in range(1, CLUSTERS_TO_TRY + 1):
        nodes = _installed(folder / str(attempt), account)
        try:
            for number, node in enumerate(nodes):
                node.start(nodes[:number])
            return nodes
        except ServerFailed:
            # Somebody else may have taken a port between our look and the bind of a node.
            _end(nodes)
            if attempt == CLUSTERS_TO_TRY:
                raise
        except BaseException:
            _end(nodes)
            raise
    raise AssertionError("each attempt returns or raises")


def _installed(folder: Path, account: str | None) -> list[GaleraNode]:
    """The nodes, of which only the first has files: the others get theirs from it."""
    password = secrets.token_urlsafe(16)
    run_as(account, ("mkdir", str(folder)))
    nodes = [GaleraNode(folder / f"node{number}", password, account) for number in range(NODES)]
    accounts = folder / "grants.sql"
    accounts.write_text(f"FLUSH PRIVILEGES;\n{grants(password)}")
    accounts.chmod(0o644)
    installer = find_program("mariadb-install-db", PACKAGE, "/usr/sbin")
    run_as(account, (*install(installer, nodes[0].folder), f"--extra-file={accounts}"))
    for node in nodes[1:]:
        run_as(account, ("mkdir", str(node.folder)))
    return nodes


def _end(nodes: Sequence[GaleraNode]) -> None:
    for node in nodes:
        node.kill()
