# SPDX-License-Identifier: Apache-2.0
"""Coverage: which sources were asked, whether they answered, and what could not be read."""

from dataclasses import dataclass
from datetime import datetime

from trueup.reconcile.reasons import Reason, because, together

PLACEMENT = "Placement"
# Owners are not read where each takes a request to Placement.
OWNERS = "owners"
OLD_FLAVORS = "flavors of a resize under way"
INSTANCE_MAPPINGS = "instance mappings"
# The source of ports.
NEUTRON = "Neutron"
# The source of domains: all hypervisors together.
LIBVIRT = "libvirt"
# The facts that are missing if the hypervisor of a host does not answer.
DOMAINS_OF = "domains of {}"


@dataclass(frozen=True, slots=True)
class Unread:
    """A value of a row that could not be understood; without `column`, the whole row.

    `row` is the id of the row in its table, as text.
    """

    table: str
    row: str
    column: str
    reason: str

    @property
    def lost(self) -> bool:
        """Whether nothing of the row is in the facts."""
        return not self.column


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A kind of fact that a source cannot give, with the reason, as its release or its API."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Whether one source (a cell, Nova's API database, Placement …) answered in this run.

    `read_via` is `database`, `API` or `export`; `answered_at` is when its answer was complete.
    `unread` lists the first values that could not be understood, `unread_rows` counts all of them,
    and `lost_rows` counts the rows that are missing as a whole. `lag` says why its answer may be
    outdated, as that of a replica; None: it is current.
    """

    source: str
    answered: bool
    rows: int = 0
    reason: str = ""
    read_via: str = ""
    answered_at: datetime | None = None
    unread: tuple[Unread, ...] = ()
    unread_rows: int = 0
    lost_rows: int = 0
    unsupported: tuple[Unsupported, ...] = ()
    lag: Reason | None = None

    @property
    def partial(self) -> bool:
        """Whether it answered, but some of its contents are not in the facts."""
        return self.answered and bool(self.unread_rows or self.unsupported)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The status of every source that was asked."""

    sources: tuple[SourceStatus, ...]

    @property
    def missing(self) -> tuple[SourceStatus, ...]:
        return tuple(status for status in self.sources if not status.answered)

    @property
    def damaged(self) -> tuple[SourceStatus, ...]:
        """Sources that answered with rows that could not be understood at all."""
        return tuple(status for status in self.sources if status.answered and status.lost_rows)

    @property
    def behind(self) -> tuple[SourceStatus, ...]:
        """Sources whose answer may be outdated."""
        return tuple(status for status in self.sources if status.answered and status.lag)

    @property
    def complete(self) -> bool:
        return not self.missing and not self.damaged and not self.behind

    @property
    def gap(self) -> Reason | None:
        """Why the evidence is incomplete; None: it is complete."""
        return together(
            (
                *(because("source-silent", source=status.source) for status in self.missing),
                *(
                    because("rows-unreadable", source=status.source, rows=status.lost_rows)
                    for status in self.damaged
                ),
                *(
                    because("source-behind", status.lag, source=status.source)
                    for status in self.behind
                ),
            )
        )
