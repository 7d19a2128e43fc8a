# SPDX-License-Identifier: Apache-2.0
"""A small HTTP client for load. It costs about 50 microseconds a request.

A library's client uses more processor time than the requests that are measured, on processors that
the services need. This one understands only the answers of uWSGI and granian.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import NamedTuple, cast

_SECONDS_TO_ANSWER = 120
_READ_BYTES = 1 << 18


class Reply(NamedTuple):
    """An answer, and how long it took."""

    status: int
    body: bytes
    seconds: float


class Client:
    """One client with one connection at a time. Raises OSError if the service is gone."""

    def __init__(self, port: int, *, keeps_alive: bool):
        self._port, self._keeps_alive = port, keeps_alive
        # Fresh memory for each answer of 14 MB would make the service wait for the client.
        self._memory = bytearray(_READ_BYTES)
        self._connection: _Connection | None = None

    async def request(
        self, method: str, path: str, body: bytes | None = None, microversion: str = "latest"
    ) -> Reply:
        """Send a request as an administrator, and wait for the complete answer."""
        message = self._message(method, path, body, microversion)
        began = time.perf_counter()
        if self._connection is None or self._connection.closed:
            loop = asyncio.get_running_loop()
            made = await loop.create_connection(
                lambda: _Connection(self._memory), "127.0.0.1", self._port
            )
            self._connection = made[1]
        async with asyncio.timeout(_SECONDS_TO_ANSWER):
            ended = await self._connection.ask(message)
        status, answer = self._connection.answer()
        if self._connection.ends or not self._keeps_alive:
            self.close()
        return Reply(status, answer, ended - began)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _message(self, method: str, path: str, body: bytes | None, microversion: str) -> bytes:
        headers: Mapping[str, str] = {
            "Host": f"127.0.0.1:{self._port}",
            "Accept": "application/json",
            "X-Auth-Token": "admin",
            "OpenStack-API-Version": f"placement {microversion}",
            "Connection": "keep-alive" if self._keeps_alive else "close",
        }
        if body is not None:
            sizes = {"Content-Type": "application/json", "Content-Length": str(len(body))}
            headers = {**headers, **sizes}
        lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
        return "\r\n".join(lines).encode() + (body or b"")


class _Connection(asyncio.BufferedProtocol):
    def __init__(self, memory: bytearray) -> None:
        self.closed = True
        self.ends = False
        self._transport: asyncio.Transport | None = None
        self._ended: asyncio.Future[float] | None = None
        self._memory, self._received_bytes = memory, 0
        self._head = b""
        self._body_at = 0

    async def ask(self, message: bytes) -> float:
        """Send one request; return when the whole answer was there."""
        self._ended = asyncio.get_running_loop().create_future()
        self._received_bytes = 0
        self._head = b""
        assert self._transport is not None
        self._transport.write(message)
        return await self._ended

    def answer(self) -> tuple[int, bytes]:
        """Status and body of the last answer."""
        with memoryview(self._memory) as received:
            body = bytes(received[self._body_at : self._received_bytes])
        return int(self._head[9:12]), body

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.closed = False

    def get_buffer(self, size: int) -> memoryview:
        if self._received_bytes + _READ_BYTES > len(self._memory):
            self._memory.extend(bytes(len(self._memory)))
        return memoryview(self._memory)[self._received_bytes :]

    def buffer_updated(self, count: int) -> None:
        self._received_bytes += count
        if not self._head:
            end = self._memory.find(b"\r\n\r\n", 0, self._received_bytes)
            if end < 0:
                return
            self._head, self._body_at = bytes(self._memory[:end]).lower(), end + 4
            self.ends = b"\r\nconnection: close" in self._head or self._head[5:8] == b"1.0"
        length = self._length()
        if length is not None and self._received_bytes - self._body_at >= length:
            self._settle()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        if self._ended is None or self._ended.done():
            return
        if self._head and self._length() is None:
            self._settle()
        else:
            self._ended.set_exception(error or ConnectionError("closed by the service"))

    def _length(self) -> int | None:
        """The length of the body; None if it ends when the service closes the connection."""
        at = self._head.find(b"\r\ncontent-length:")
        if at >= 0:
            return int(self._head[at + 17 :].split(b"\r\n", 1)[0])
        return 0 if self._head[9:12] in (b"204", b"304") else None

    def _settle(self) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(time.perf_counter())
