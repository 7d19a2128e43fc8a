# SPDX-License-Identifier: Apache-2.0
"""A proxy before a MariaDB that reads the statements, as ProxySQL and MaxScale do.

Each transaction goes to another session of the server. A SELECT outside of a transaction goes to a
replica that is behind: a session that sees the tables as they were at the start.
"""

import itertools
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pymysql
from pymysql.constants import CLIENT, COMMAND, SERVER_STATUS
from sqlalchemy.engine import URL

_CAPABILITIES = CLIENT.CAPABILITIES | CLIENT.CONNECT_WITH_DB | CLIENT.FOUND_ROWS
_OK, _ERROR, _END = b"\x00", b"\xff", b"\xfe"
_UTF8MB4 = 45
_IDS = itertools.count(1_000_000)


class Multiplexer:
    """`pins`: as ProxySQL, a statement with an @ gives its client a session of its own for ever."""

    def __init__(self, url: URL, *, pins: bool):
        self._url, self.pins = url, pins
        self._free: deque[Any] = deque(self.session() for _ in range(3))
        self.replica, self.replica_in_use = self._behind(), threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def session(self) -> Any:
        url = self._url
        return pymysql.connect(
            host=url.host,
            port=url.port or 0,
            user=url.username,
            password=str(url.password),
            database=url.database,
            client_flag=CLIENT.FOUND_ROWS,
            autocommit=True,
        )

    def take(self) -> Any:
        """The session that was not used for longest, of those whose server lives."""
        with suppress(IndexError):
            while not _lives(session := self._free.popleft()):
                pass
            return session
        return self.session()

    def read(self, forward: Callable[[Any], None]) -> None:
        """Let a bare SELECT be answered by the replica."""
        with self.replica_in_use:
            if not _lives(self.replica):
                self.replica = self._behind()
            forward(self.replica)

    def give_back(self, session: Any) -> None:
        self._free.append(session)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for session in (self.replica, *self._free):
            with suppress(pymysql.Error):
                session.close()

    def _behind(self) -> Any:
        session = self.session()
        session.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        return session

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=_Client(self, client).serve, daemon=True).start()


class _Client:
    def __init__(self, proxy: Multiplexer, connection: socket.socket):
        self._proxy, self._connection = proxy, connection
        self._stream = connection.makefile("rb")
        self._session: Any = None
        self._pinned, self._autocommit = False, True

    def serve(self) -> None:
        # If the server dies, so does the client's connection.
        with suppress(OSError, struct.error, pymysql.Error), self._connection:
            self._connection.sendall(_packet(0, self._greeting()))
            _read(self._stream)
            self._answer_ok(2)
            while (payload := _read(self._stream)[1])[0] != COMMAND.COM_QUIT:
                if payload[0] == COMMAND.COM_QUERY:
                    self._query(payload)
                else:
                    self._answer_ok(1)
        if self._session is not None:
            with suppress(pymysql.Error):
                self._session.close()

    def _greeting(self) -> bytes:
        version = self._proxy.replica.server_version.encode()
        low, high = _CAPABILITIES & 0xFFFF, _CAPABILITIES >> 16
        return (
            b"\x0a"
            + version
            + b"\x00"
            + struct.pack("<I", next(_IDS))
            + b"12345678\x00"
            + struct.pack("<HBHHB", low, _UTF8MB4, self._status(), high, 21)
            + bytes(10)
            + b"123456789012\x00"
            + b"mysql_native_password\x00"
        )

    def _status(self) -> int:
        return SERVER_STATUS.SERVER_STATUS_AUTOCOMMIT if self._autocommit else 0

    def _answer_ok(self, number: int) -> None:
        ok = _OK + b"\x00\x00" + struct.pack("<HH", self._status(), 0)
        self._connection.sendall(_packet(number, ok))

    def _query(self, payload: bytes) -> None:
        statement = payload[1:].decode(errors="replace").upper().strip()
        if statement.startswith("SET AUTOCOMMIT"):
            self._autocommit = statement.endswith("1")
            self._answer_ok(1)
            return
        is_bare = self._session is None or (self._pinned and not self._is_open())
        is_read = statement.startswith("SELECT") and "FOR UPDATE" not in statement
        if is_bare and is_read and self._autocommit:
            self._proxy.read(lambda replica: self._forward(replica, payload))
            return
        if self._session is None:
            self._session = self._proxy.take()
        self._pinned = self._pinned or (self._proxy.pins and "@" in statement)
        if self._session.get_autocommit() != self._autocommit:
            self._session.autocommit(self._autocommit)
        self._forward(self._session, payload)
        if not self._pinned and not self._is_open():
            self._proxy.give_back(self._session)
            self._session = None

    def _is_open(self) -> bool:
        return bool(self._session.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS)

    def _forward(self, session: Any, payload: bytes) -> None:
        """Send the statement to this session, and its whole answer to the client."""
        session._sock.sendall(_packet(0, payload))
        answered: list[tuple[int, bytes]] = [_read(session._rfile)]
        first = answered[0][1]
        if first[:1] == _OK:
            after = _after_number(first, _after_number(first, 1))
            session.server_status = struct.unpack_from("<H", first, after)[0]
        elif first[:1] != _ERROR:
            ends = 0
            while ends < 2:
                number, more = _read(session._rfile)
                answered.append((number, more))
                ends += 2 if more[:1] == _ERROR else more[:1] == _END and len(more) < 9
                if ends == 2 and more[:1] == _END:
                    session.server_status = struct.unpack_from("<H", more, 3)[0]
        self._connection.sendall(b"".join(_packet(number, one) for number, one in answered))


def _lives(session: Any) -> bool:
    with suppress(pymysql.Error, OSError):
        session.ping(reconnect=False)
        return True
    return False


def _after_number(payload: bytes, at: int) -> int:
    """The place after a number whose length is in its first byte."""
    return at + {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(payload[at], 1)


def _read(stream: Any) -> tuple[int, bytes]:
    head = stream.read(4)
    length = struct.unpack("<I", head[:3] + b"\x00")[0]
    return head[3], stream.read(length)


def _packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


@contextmanager
def multiplexer_to(url: URL, *, pins: bool) -> Iterator[URL]:
    """The same database behind such a proxy."""
    with closing(Multiplexer(url, pins=pins)) as proxy:
        yield url.set(host="127.0.0.1", port=proxy.port)
