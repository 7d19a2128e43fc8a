# SPDX-License-Identifier: Apache-2.0
"""Which histories are played, and how a failing one is shown."""

import os
import sys
from collections.abc import Iterator, Sequence

from tests.simulator.events import Event
from tests.simulator.generating import shortened
from tests.simulator.quiet import QuietCloud
from tests.simulator.running import run

HISTORIES = int(os.environ.get("TRUEUP_HISTORIES", "300"))
FIRST_SEED = int(os.environ.get("TRUEUP_SEED", "0"))


def seeds() -> Iterator[int]:
    """The seeds of the histories. They are printed, so that a failing run can be repeated."""
    sys.stdout.write(f"seeds {FIRST_SEED} to {FIRST_SEED + HISTORIES - 1}\n")
    yield from range(FIRST_SEED, FIRST_SEED + HISTORIES)


def shown(events: Sequence[Event], hypervisors: bool = False) -> str:
    """The shortest history that still has violations, with its violations."""
    short = shortened(events, lambda some: bool(run(some, hypervisors).violations))
    lines = "\n  ".join(map(str, short))
    return f"\n  {lines}\n=> " + "\n=> ".join(run(short, hypervisors).violations)


def story(seed: int, quiet: QuietCloud) -> str:
    """The seed and the events of a quiet cloud."""
    return f"seed {seed}:\n  " + "\n  ".join(quiet.happened) + "\n"
