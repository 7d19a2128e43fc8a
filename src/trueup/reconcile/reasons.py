# SPDX-License-Identifier: Apache-2.0
"""Reasons: why a subject is not judged, not repaired or left alone, as values.

A reason has a stable name, and the values that it rests on. `report/sentences.toml` has the one
sentence of each name; programs get the name and the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Scalar = str | int | None
Structure = Mapping[str, Scalar | Mapping[str, int]]
# A word, a number, a list of words, or amounts as `holding` makes them.
Field = Scalar | tuple[str | Structure, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why, by name and values. `causes` are the reasons behind it, as far as they are known."""

    name: str
    fields: Mapping[str, Field]
    causes: tuple[Reason, ...] = ()

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def names(self) -> frozenset[str]:
        """Its name and those of its causes: it counts as each of them."""
        return frozenset({self.name}).union(*(cause.names for cause in self.causes))


def because(name: str, /, *causes: Reason | None, **fields: Field) -> Reason:
    """The reason of this name."""
    return Reason(name, fields, tuple(cause for cause in causes if cause is not None))


def together(reasons: Iterable[Reason | None]) -> Reason | None:
    """These reasons as one, each once; None if there is none."""
    every = tuple(dict.fromkeys(reason for reason in reasons if reason is not None))
    if len(every) > 1:
        return because("several", *every)
    return every[0] if every else None
