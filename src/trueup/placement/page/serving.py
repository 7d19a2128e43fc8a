# SPDX-License-Identifier: Apache-2.0
"""`trueup page`: the pages of a ledger, served while a block runs."""

import ipaddress
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from trueup.placement import why
from trueup.placement.page.site import Site
from trueup.placement.store.reads import browsing
from trueup.web import server
from trueup.web.errors import AddressUnusable

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(eq=False)
class NotLoopback(Exception):
    """At this address, other machines could read the ledger."""

    address: str


@dataclass(frozen=True, slots=True)
class ListenAt:
    """The listening address; `insecure` permits other interfaces than loopback."""

    host: str
    port: int
    insecure: bool = False


@contextmanager
def serving(
    words: Sequence[str],
    database_url: str | None,
    at: ListenAt,
    log: Path | None = None,
    load_of: Callable[[Path], object] | None = None,
) -> Iterator[int]:
    """Serve the ledger of placement.conf, or another one, and a log; yields the port.

    Raises NotLoopback, AddressUnusable, LedgerAway and ConfigurationUnusable before it listens.
    """
    address = _address(at.host)
    is_loopback = ipaddress.ip_address(address).is_loopback
    if not (is_loopback or at.insecure):
        raise NotLoopback(address)
    hosts = {*_LOOPBACK_NAMES, at.host.lower(), address} if is_loopback else None
    with closing(why.open_ledger(words, database_url)) as database:
        with why.reading(database) as tx:
            browsing.count_trees(tx)
        site = Site(database, hosts, version("trueup"), log, load_of)
        with server.serving(address, at.port, site.answer) as port:
            yield port


def _address(host: str) -> str:
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise AddressUnusable(host, str(error.strerror)) from error
