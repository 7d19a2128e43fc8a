# SPDX-License-Identifier: Apache-2.0
"""Host states: how many hosts are up, and which are down, forced down or disabled. Pure."""

from dataclasses import dataclass

from trueup.reconcile.facts import Facts
from trueup.reconcile.wording import counted

# At most so many hosts of one state are named.
_NAMED_MAX = 10


@dataclass(frozen=True, slots=True)
class HostStates:
    """The hosts with a compute service, by name; one may be disabled and down."""

    total: int
    down: tuple[str, ...]
    forced_down: tuple[str, ...]
    disabled: tuple[str, ...]

    @property
    def words(self) -> str:
        """`3 hosts: 1 down (h1), 1 forced down (h2).`"""
        states = {
            "down": self.down,
            "forced down": self.forced_down,
            "disabled": self.disabled,
        }
        parts = [
            f"{len(hosts)} {state} ({_named(hosts)})" for state, hosts in states.items() if hosts
        ]
        return f"{counted(self.total, 'host')}: {', '.join(parts) or 'all up'}."


def host_states(facts: Facts) -> HostStates:
    """The states of all hosts that were read."""
    services = sorted(facts.services, key=lambda row: (row.host, row.cell))
    down = [row for row in services if not row.is_up(facts.taken_at)]
    return HostStates(
        total=len(services),
        down=tuple(row.host for row in down if not row.forced_down),
        forced_down=tuple(row.host for row in down if row.forced_down),
        disabled=tuple(row.host for row in services if row.disabled),
    )


def _named(hosts: tuple[str, ...]) -> str:
    more = f" and {len(hosts) - _NAMED_MAX} more" if len(hosts) > _NAMED_MAX else ""
    return f"{', '.join(hosts[:_NAMED_MAX])}{more}"
