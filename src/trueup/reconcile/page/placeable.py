# SPDX-License-Identifier: Apache-2.0
"""How many more servers fit, as values to show: the command that makes a page gives them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Placeable:
    """How many more servers of a flavor fit in a zone: now, and after the repairs of an audit.

    `at_most`: something is not known that may keep servers away. `binds` says what keeps the next
    one away from how many hosts.
    """

    flavor: str
    zone: str
    now: int
    repaired: int
    hosts: int
    at_most: bool
    binds: str


@dataclass(frozen=True, slots=True)
class Failures:
    """Failures of one host each: how many the others absorb, perhaps absorb, and do not absorb."""

    absorbed: int
    uncertain: int
    lost: int


@dataclass(frozen=True, slots=True)
class Placeables:
    """The counts of one moment; `gap` says why there are none.

    `in_all` is by flavor, in the whole cloud. `remarks` say how it was counted, and what was not.
    """

    rows: tuple[Placeable, ...] = ()
    in_all: Mapping[str, int] = field(default_factory=dict)
    failures: Failures | None = None
    remarks: tuple[str, ...] = ()
    gap: str = ""
