# SPDX-License-Identifier: Apache-2.0
"""What a sink gets, and what a sink is."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Thread
from typing import Any, Protocol

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that happened, as a document, and as an event of CADF where it has that form.

    `id` is the same when it is sent again. `grave`: something was refused, or is not known.
    """

    id: str
    kind: str
    at: datetime
    document: Document
    cadf: Document = field(default_factory=dict)
    grave: bool = False

    def line(self, as_cadf: bool) -> bytes:
        """The message in one line of JSON, in ASCII."""
        return json.dumps(self.cadf if as_cadf else self.document).encode()


def in_time(carry: Callable[[], str], seconds: float) -> str:
    """What `carry` returns, or that it did not end; it is then left to the end of the process.

    SAFETY: a receiver may answer byte by byte, or not at all, and never end.
    """
    ended: list[str] = []

    def carrying() -> None:
        try:
            ended.append(carry())
        except Exception as error:
            ended.append(f"{type(error).__name__}: {error}")

    thread = Thread(target=carrying, daemon=True)
    thread.start()
    thread.join(seconds)
    return ended[0] if ended else f"there was no whole answer within {seconds:g} s"


class Carrier(Protocol):
    """How messages get to a place."""

    def carry(self, message: Message, line: bytes) -> str:
        """Give the place a line. Returns why that failed; empty if it worked."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A place that gets messages. `name` is for people, and has no password in it."""

    name: str
    carrier: Carrier
    as_cadf: bool = False

    def send(self, message: Message) -> str:
        """Returns why the message was not taken; empty if it was."""
        return self.carrier.carry(message, message.line(self.as_cadf))
