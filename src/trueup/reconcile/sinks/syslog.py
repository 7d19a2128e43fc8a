# SPDX-License-Identifier: Apache-2.0
"""Syslog by RFC 5424: over UDP, over TCP or TLS with octet counting, or to a local socket.

The library's own handler writes the older form, without a year or a time zone.
"""

import os
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from trueup.reconcile.sinks.message import Message, in_time

# For each part of a connection, and for all of it with the name of the server.
ANSWER_SECONDS, WHOLE_SECONDS = 5.0, 20.0
# Facility 13 is "log audit"; severities 4 and 6 are warning and informational.
_AUDIT, _WARNING, _INFORMATIONAL = 13, 4, 6


class Way(Enum):
    """How a message gets to a syslog server."""

    UDP = "syslog"
    TCP = "syslog+tcp"
    TLS = "syslog+tls"
    LOCAL = "a socket of this machine"


@dataclass(frozen=True, slots=True)
class Syslog:
    """A server (`host`, `port`), or with `Way.LOCAL` a datagram socket whose path is `host`."""

    way: Way
    host: str
    port: int = 0

    def carry(self, message: Message, line: bytes) -> str:
        """Send it. UDP says nothing of a message that got lost on its way."""
        return in_time(lambda: self._sent(formatted(message, line)), WHOLE_SECONDS)

    def _sent(self, content: bytes) -> str:
        try:
            match self.way:
                case Way.UDP:
                    self._datagram(content)
                case Way.LOCAL:
                    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as local:
                        local.settimeout(ANSWER_SECONDS)
                        local.sendto(content, self.host)
                case Way.TCP | Way.TLS:
                    self._stream(b"%d %b" % (len(content), content))
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def _datagram(self, content: bytes) -> None:
        [family, kind, protocol, _, address], *_ = socket.getaddrinfo(
            self.host, self.port, type=socket.SOCK_DGRAM
        )
        with socket.socket(family, kind, protocol) as udp:
            # Connected, so that a port where nothing listens is an error of the next message.
            udp.connect(address)
            udp.send(content)

    def _stream(self, content: bytes) -> None:
        with socket.create_connection((self.host, self.port), ANSWER_SECONDS) as tcp:
            if self.way is Way.TCP:
                tcp.sendall(content)
                return
            context = ssl.create_default_context()
            with context.wrap_socket(tcp, server_hostname=self.host) as tls:
                tls.sendall(content)
                # SAFETY: after the handshake TLS 1.3 brings tickets. Closed while they are unread,
                # the connection is reset, and the server may lose what it has not read yet.
                with suppress(ssl.SSLEOFError, TimeoutError):
                    tls.unwrap()


def formatted(message: Message, line: bytes) -> bytes:
    """A message as RFC 5424 has it. ASCII needs no mark of its encoding."""
    priority = _AUDIT * 8 + (_WARNING if message.grave else _INFORMATIONAL)
    head = (
        f"<{priority}>1 {message.at:%Y-%m-%dT%H:%M:%S.%fZ} {socket.gethostname()[:255]} "
        f"trueup {os.getpid()} {message.kind[:32]} - "
    )
    return head.encode() + line
