# SPDX-License-Identifier: Apache-2.0
"""What servers of syslog get, and what is said when none is there."""

import os
import re
import socket

import pytest

from tests.reconcile.sinks.receivers import certificate, message, stream_server
from trueup.reconcile.sinks import sink_of
from trueup.reconcile.sinks.syslog import formatted

# RFC 5424, 6: the header, no structured data, the message.
FORM = re.compile(
    rb"<(?P<priority>\d{1,3})>1 (?P<at>\S+) (?P<host>\S+) trueup (?P<process>\d+) "
    rb"(?P<kind>[!-~]{1,32}) - (?P<content>[ -~]+)"
)


def test_a_message_has_the_form_of_the_rfc():
    found = FORM.fullmatch(formatted(message(), b"{}"))
    assert found is not None
    assert found["priority"] == b"110", "log audit, informational"
    assert found["at"] == b"2026-11-26T21:00:01.250000Z"
    assert found["host"] == socket.gethostname().encode()
    assert int(found["process"]) == os.getpid()
    assert (found["kind"], found["content"]) == (b"step-ended", b"{}")
    assert formatted(message(grave=True), b"{}").startswith(b"<108>1 ")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_udp(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as server:
        server.bind((host.strip("[]"), 0))
        server.settimeout(60)
        sink = sink_of(f"syslog://{host}:{server.getsockname()[1]}")
        assert sink.send(message()) == ""
        found = FORM.fullmatch(server.recv(65536))
    assert found is not None
    assert found["content"] == b'{"\\u00e9": 1}'


def test_a_message_too_large_for_a_datagram_is_no_message():
    sink = sink_of("syslog://127.0.0.1:9")
    assert "too long" in sink.carrier.carry(message(), b"x" * 70_000)


def test_a_socket_of_this_machine(tmp_path):
    path = tmp_path / "log"
    sink = sink_of(f"syslog:{path}")
    assert sink.send(message()) == "No such file or directory"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(path))
        server.settimeout(60)
        assert sink.send(message()) == ""
        assert FORM.fullmatch(server.recv(65536))


def frames(content: bytes) -> list[bytes]:
    """The messages of a stream with octet counting, as RFC 6587 and RFC 5425 have it."""
    found = []
    while content:
        length, _, rest = content.partition(b" ")
        found.append(rest[: int(length)])
        content = rest[int(length) :]
    return found


def test_tcp():
    with stream_server() as (port, got):
        sink = sink_of(f"cadf+syslog+tcp://127.0.0.1:{port}")
        assert [sink.send(message(1)), sink.send(message(2))] == ["", ""]
    contents = [FORM.fullmatch(one)["content"] for stream in got for one in frames(stream)]
    assert contents == [b'{"typeURI": "event", "number": %d}' % number for number in (1, 2)]
    assert "refused" in sink.send(message(3))


def test_tls_trusts_only_whom_the_environment_trusts(tmp_path, monkeypatch):
    with stream_server(certificate(tmp_path)) as (port, got):
        sink = sink_of(f"syslog+tls://localhost:{port}")
        assert "certificate" in sink.send(message()).lower()
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert sink.send(message()) == ""
    [one] = frames(b"".join(got))
    assert FORM.fullmatch(one)
