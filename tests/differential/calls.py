# SPDX-License-Identifier: Apache-2.0
"""One request, before and after the generations in it are known."""

import json
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class ProviderGeneration:
    """The provider's generation when the request is sent, plus `offset`."""

    provider: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ConsumerGeneration:
    """The same for a consumer; null when there is no such consumer."""

    consumer: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Raw:
    """A body that is sent as it stands, JSON or not."""

    text: str


@dataclass(frozen=True, slots=True)
class Absent:
    """No body at all."""


class Generations(Protocol):
    """Looks up the current generations in the ledger."""

    def provider_generation(self, provider: str) -> int: ...

    def consumer_generation(self, consumer: str) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it is sent."""

    method: str
    path: str
    version: str
    text: str | None

    def __str__(self) -> str:
        body = "" if self.text is None else f"  {self.text}"
        return f"{self.method} {self.path}  [{self.version}]{body}"


@dataclass(frozen=True, slots=True)
class Draft:
    """A request whose body may hold generations that are looked up when it is sent."""

    method: str
    path: str
    version: str
    body: Any = Absent()

    def call(self, generations: Generations) -> Call:
        return Call(self.method, self.path, self.version, _text(self.body, generations))


def _text(body: Any, generations: Generations) -> str | None:
    if isinstance(body, Absent):
        return None
    if isinstance(body, Raw):
        return body.text
    return json.dumps(_resolved(body, generations))


def _resolved(value: Any, generations: Generations) -> Any:
    if isinstance(value, dict):
        return {key: _resolved(part, generations) for key, part in value.items()}
    if isinstance(value, list):
        return [_resolved(part, generations) for part in value]
    if isinstance(value, ProviderGeneration):
        return generations.provider_generation(value.provider) + value.offset
    if isinstance(value, ConsumerGeneration):
        known = generations.consumer_generation(value.consumer)
        return known if known is None else known + value.offset
    return value
