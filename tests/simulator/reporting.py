# SPDX-License-Identifier: Apache-2.0
"""Which histories are played, and what is said of one that shows something."""

import os
import sys
from collections.abc import Iterator, Sequence

from tests.simulator.events import Event
from tests.simulator.generating import shortened
from tests.simulator.quiet import Rest
from tests.simulator.running import run

HISTORIES = int(os.environ.get("TRUEUP_HISTORIES", "300"))
FIRST_SEED = int(os.environ.get("TRUEUP_SEED", "0"))


def seeds() -> Iterator[int]:
    """The seeds of the histories; they are said, and shown where a test fails."""
    sys.stdout.write(f"seeds {FIRST_SEED} to {FIRST_SEED + HISTORIES - 1}\n")
    yield from range(FIRST_SEED, FIRST_SEED + HISTORIES)


def shown(events: Sequence[Event], hypervisors: bool = False) -> str:
    """The shortest history that still shows a wrong, and what is wrong."""
    short = shortened(events, lambda some: bool(run(some, hypervisors).wrongs))
    lines = "\n  ".join(map(str, short))
    return f"\n  {lines}\n=> " + "\n=> ".join(run(short, hypervisors).wrongs)


def told(seed: int, rest: Rest) -> str:
    """What happened to a cloud at rest."""
    return f"seed {seed}:\n  " + "\n  ".join(rest.happened) + "\n"
