# SPDX-License-Identifier: Apache-2.0
"""How options name sinks, and files that are sinks."""

import errno
import os
import stat
from pathlib import Path

import pytest

from tests.reconcile.sinks.receivers import message
from trueup.reconcile.sinks import SinkInvalid, sink_of, sinks_of
from trueup.reconcile.sinks.lines import Lines
from trueup.reconcile.sinks.process import Command
from trueup.reconcile.sinks.syslog import Syslog, Way
from trueup.reconcile.sinks.webhook import Webhook


@pytest.mark.parametrize(
    ("text", "carrier"),
    [
        ("file:/var/log/runs", Lines(Path("/var/log/runs"))),
        ("file:///var/log/runs", Lines(Path("/var/log/runs"))),
        ("syslog://log", Syslog(Way.UDP, "log", 514)),
        ("syslog+tcp://[::1]:99", Syslog(Way.TCP, "::1", 99)),
        ("syslog+tls://log", Syslog(Way.TLS, "log", 6514)),
        ("syslog:/dev/log", Syslog(Way.LOCAL, "/dev/log")),
        ("https://hooks/x?y", Webhook("https://hooks/x?y", b"key")),
        ("HTTPS://hooks/x", Webhook("HTTPS://hooks/x", b"key")),
        ("notify --to 'the team' $HOME", Command(("notify", "--to", "the team", "$HOME"))),
    ],
)
def test_a_url_or_else_a_command(text, carrier):
    sink = sink_of(text, "a2V5")
    assert (sink.carrier, sink.as_cadf) == (carrier, False)
    if "syslog" in text or "file" in text:
        assert sink_of(f"cadf+{text}").as_cadf


@pytest.mark.parametrize(
    ("text", "secret", "words"),
    [
        ("", "", "it is empty"),
        ("notify 'unended", "", "it cannot be read as a command"),
        ("file:runs", "", "it names no file by its whole path"),
        ("syslog:", "", "it names no host"),
        ("https:///x", "", "it names no host"),
        ("syslog://log:port", "", "Port could not be cast"),
        ("https://hooks", "not base64!", "it is no base64"),
        ("htp://user:password@hooks/x", "", "it begins no sink; a sink is file:PATH"),
        ("slack:team", "", "it begins no sink"),
        ("cadf+notify", "", "it begins no sink"),
    ],
)
def test_what_names_no_sink_is_refused(text, secret, words):
    with pytest.raises(SinkInvalid) as refused:
        sink_of(text, secret)
    assert words in refused.value.reason
    assert "password" not in refused.value.text


def test_several_in_one_line_are_split_as_by_a_shell():
    first, second = sinks_of("syslog:/dev/log 'notify the team'", "")
    assert (first.name, second.name) == ("syslog:/dev/log", "notify the team")
    assert sinks_of("", "") == ()
    with pytest.raises(SinkInvalid):
        sinks_of("'", "")


def test_a_file_gets_line_after_line_and_is_private(tmp_path):
    path = tmp_path / "runs"
    sink = sink_of(f"file:{path}")
    assert [sink.send(message(1)), sink.send(message(2))] == ["", ""]
    assert path.read_text() == '{"\\u00e9": 1}\n{"\\u00e9": 2}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sink_of(f"file:{tmp_path}").send(message()) == "Is a directory"
    assert sink_of("file:/dev/full").send(message()) == "No space left on device"
    os.mkfifo(tmp_path / "fifo")
    assert sink_of(f"file:{tmp_path}/fifo").send(message()) == os.strerror(errno.ENXIO)
