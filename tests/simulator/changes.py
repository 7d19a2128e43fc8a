# SPDX-License-Identifier: Apache-2.0
"""Changes that a plan makes, as values of the simulator."""

from dataclasses import dataclass

from tests.simulator.places import HOSTS, POOL
from tests.simulator.rows import Amounts, ClaimRow


@dataclass(frozen=True, slots=True)
class Change:
    """What one consumer holds before and after a step; None: nothing. `name`: the defect."""

    name: str
    consumer: str
    before: ClaimRow | None
    after: ClaimRow | None


# Changes that are written in one request, all of them or none.
Step = tuple[Change, ...]

_NAMES = {POOL: "pool"}
_NAMES |= {host.root: host.name for host in HOSTS.values()}
_NAMES |= {host.card: f"{host.name}-card" for host in HOSTS.values()}


def in_words(amounts: Amounts) -> str:
    """`VCPU=1 MEMORY_MB=512 on h1`."""
    parts = (
        f"{' '.join(f'{kind}={amount}' for kind, amount in sorted(held.items()))}"
        f" on {_NAMES.get(uuid, uuid)}"
        for uuid, held in sorted(amounts.items(), key=lambda pair: _NAMES.get(pair[0], pair[0]))
    )
    return "; ".join(parts) or "nothing"


def changed(change: Change) -> str:
    """The change as a sentence."""
    before = in_words(change.before.amounts) if change.before else "nothing"
    after = in_words(change.after.amounts) if change.after else "nothing"
    return f"{change.name} makes {change.consumer[:8]} hold {after} instead of {before}"
