# SPDX-License-Identifier: Apache-2.0
"""Instances that boot, move and die in a loop, in threads, until the block ends."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from openstack.compute.v2.server import Server

from tests.real.cloud.catalog import SMALL, TINY
from tests.real.cloud.openstack import Cloud
from tests.real.cloud.tenant import Tenant

Move = Callable[[Tenant, Server], object]


@dataclass
class Lives:
    """How the instances fared: names of the moves that were made, and what went wrong.

    `note` hears of each at once.
    """

    ended: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    note: Callable[[str], object] = str


def stays(tenant: Tenant, server: Server) -> None:
    """No move at all: it boots and dies."""


def resizes(tenant: Tenant, server: Server) -> None:
    tenant.confirm(tenant.resize(server, SMALL))


def moves(tenant: Tenant, server: Server) -> None:
    tenant.connection.compute.migrate_server(server)
    tenant.confirm(tenant.wait_for(server, "VERIFY_RESIZE"))


def moves_alive(tenant: Tenant, server: Server) -> None:
    tenant.connection.compute.live_migrate_server(server, block_migration="auto")
    tenant.wait_for(server, "ACTIVE")


def comes_back(tenant: Tenant, server: Server) -> None:
    """It wants to move, and changes its mind."""
    tenant.connection.compute.migrate_server(server)
    tenant.wait_for(server, "VERIFY_RESIZE")
    tenant.connection.compute.revert_server_resize(server)
    tenant.wait_for(server, "ACTIVE")


def is_shelved(tenant: Tenant, server: Server) -> None:
    tenant.connection.compute.shelve_server(server)
    tenant.wait_for(server, "SHELVED_OFFLOADED")
    tenant.connection.compute.unshelve_server(server)
    tenant.wait_for(server, "ACTIVE")


MOVES: tuple[Move, ...] = (resizes, stays, moves_alive, comes_back, moves)


@contextlib.contextmanager
def churn(
    cloud: Cloud,
    workers: int,
    choices: tuple[Move, ...] = MOVES,
    host: str | None = "compute1",
    note: Callable[[str], object] = str,
) -> Iterator[Lives]:
    """Each worker lets one instance after the other live; all are gone at the end of the block.

    An instance whose move failed is left as it is.
    """
    lives, stopped = Lives(note=note), threading.Event()
    threads = [
        threading.Thread(
            target=_live,
            args=(Tenant(cloud.connect()), itertools.cycle(choices), host, lives, stopped),
        )
        for _ in range(workers)
    ]
    for thread in threads:
        thread.start()
    try:
        yield lives
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def _live(
    tenant: Tenant,
    choices: Iterator[Move],
    host: str | None,
    lives: Lives,
    stopped: threading.Event,
) -> None:
    while not stopped.is_set():
        move = next(choices)
        try:
            server = tenant.boot(TINY, host)
            move(tenant, server)
            tenant.delete(server)
        except Exception as error:
            # Whatever it is, the test that looks at `failed` tells it.
            lives.failed.append(f"{move.__name__}: {type(error).__name__}: {error}")
            lives.note(lives.failed[-1])
            # The next request to a service that is away would fail as fast.
            stopped.wait(1)
        else:
            lives.ended.append(move.__name__)
            lives.note(move.__name__)
