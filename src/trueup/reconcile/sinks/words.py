# SPDX-License-Identifier: Apache-2.0
"""Sinks as options name them: a URL, or else a command."""

import base64
import binascii
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from trueup.reconcile.sinks.lines import Lines
from trueup.reconcile.sinks.message import Carrier, Sink
from trueup.reconcile.sinks.process import Command
from trueup.reconcile.sinks.syslog import Syslog, Way
from trueup.reconcile.sinks.webhook import Webhook

_PORTS = {Way.UDP: 514, Way.TCP: 601, Way.TLS: 6514}
_SECRET_PREFIX = "whsec_"
_URL = re.compile(
    r"(cadf\+)?((?:file|syslog|syslog\+tcp|syslog\+tls|https?):.*)", re.DOTALL | re.IGNORECASE
)
# What looks like a URL, and is none of those.
_OTHER_URL = re.compile(r"(cadf\+|[a-z][a-z0-9+.-]*:)", re.IGNORECASE)
_ACCEPTED = (
    "a sink is file:PATH, syslog://HOST, syslog+tcp://HOST, syslog+tls://HOST, syslog:PATH or "
    "https://HOST/PATH, each also with cadf+ before it; or a command"
)


@dataclass(eq=False)
class SinkInvalid(Exception):
    """Words that name no sink, or the secret of webhooks; `text` may be shown to people."""

    text: str
    reason: str


def sinks_of(listed: str, secret: str) -> tuple[Sink, ...]:
    """Sinks in one line, which is split as by a shell. Raises SinkInvalid."""
    try:
        texts = shlex.split(listed)
    except ValueError as error:
        raise SinkInvalid(listed, str(error)) from error
    return tuple(sink_of(text, secret) for text in texts)


def sink_of(text: str, secret: str = "") -> Sink:
    """The sink of a URL or of a command line. Raises SinkInvalid.

    `secret` signs what webhooks get: in base64, with the prefix that Standard Webhooks gives it.
    """
    matched = _URL.fullmatch(text)
    if matched is None:
        # What follows the scheme may have a password.
        if other := _OTHER_URL.match(text):
            raise SinkInvalid(other[1].rstrip(":"), f"it begins no sink; {_ACCEPTED}")
        return Sink(text, _command(text))
    url = matched[2]
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise SinkInvalid(url.partition(":")[0], str(error)) from error
    as_cadf = bool(matched[1])
    if parts.scheme == "file":
        return Sink(url, _lines(url, parts.path, host), as_cadf)
    if parts.scheme in ("http", "https"):
        if not host:
            raise SinkInvalid(f"{parts.scheme}:", "it names no host")
        # The path of a webhook is often its password.
        name = f"{parts.scheme}://{host}" + (f":{port}" if port else "")
        return Sink(name, Webhook(url, _key(secret)), as_cadf)
    way = Way(parts.scheme)
    if way is Way.UDP and parts.path and not host:
        return Sink(url, Syslog(Way.LOCAL, parts.path), as_cadf)
    if not host:
        raise SinkInvalid(url, "it names no host, such as syslog://log.example.com")
    return Sink(url, Syslog(way, host, port or _PORTS[way]), as_cadf)


def _command(text: str) -> Carrier:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SinkInvalid(text, f"it cannot be read as a command: {error}") from error
    if not words:
        raise SinkInvalid(text, "it cannot be read as a command: it is empty")
    return Command(tuple(words))


def _lines(url: str, path: str, host: str) -> Carrier:
    if host or not path.startswith("/"):
        raise SinkInvalid(url, "it names no file by its whole path, such as file:/var/log/runs")
    return Lines(Path(path))


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.strip().removeprefix(_SECRET_PREFIX), validate=True)
    except binascii.Error as error:
        raise SinkInvalid("the secret of webhooks", f"it is no base64: {error}") from error
