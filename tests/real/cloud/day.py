# SPDX-License-Identifier: Apache-2.0
"""What a long day has shown, as a section of docs/verified.md."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.real.cloud.verified import DAY
from tests.real.cloud.watched import Diary, Observer

LOGGED = (
    "seed", "death", "evacuation", "quiet point", "leaked", "planted", "found in time", "repaired",
    "healed by Nova", "Nova's own", "FALSE", "a step was refused",
)  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """`first_kib` and `last_kib`: the medians of the first and last third of the rounds."""

    seed: str
    minutes: float
    diary: Diary
    observer: Observer
    first_kib: int
    last_kib: int

    def write(self, page: Path) -> None:
        """In place of the section of the day before."""
        before, _, _ = page.read_text().partition(f"\n{DAY}")
        page.write_text(before + "\n" + "\n".join(self._lines()) + "\n")

    def _lines(self) -> Iterator[str]:
        counts, observer = self.diary.counts, self.observer
        states = Counter(row["state"] for row in observer.rounds)
        yield DAY
        yield (
            f"Written by `make day`: {self.minutes:.0f} minutes with the seed `{self.seed}`. "
            "Instances boot, move and die; services are killed at random and come back; drift is "
            "planted; `trueup watch` audits beside it, each 30 seconds. What it confirms is "
            "compared with Nova's and Placement's rows by plain SQL.\n"
        )
        yield "| what | number |\n|---|---|"
        for kind in sorted(counts):
            if kind.startswith(("death of", "lived", "failed", "evacuation")):
                yield f"| {kind} | {counts[kind]} |"
        for state in sorted(states):
            yield f"| rounds of the watch, {state} | {states[state]} |"
        yield f"| drifts planted | {counts['planted']} |"
        yield f"| found within two rounds | {counts['found in time']} |"
        yield f"| healed by nova-compute before a round looked | {counts['healed by Nova']} |"
        yield f"| repaired, and the ledger right | {counts['repaired']} |"
        yield f"| confirmed, and Nova's own leak | {len(observer.true)} |"
        yield f"| confirmed, and false | {len(observer.false)} |"
        yield (
            f"\nResident memory of the watch: {self.first_kib // 1024} MiB in the first third of "
            f"its rounds, {self.last_kib // 1024} MiB in the last (medians)."
        )
        own = Counter(one.partition(":")[0] for one in observer.true)
        for defect, number in sorted(own.items()):
            yield f"\nLeaked by Nova itself: {number} times `{defect}`."
        yield from log_of(self.diary.file)


def log_of(diary: Path) -> Iterator[str]:
    """Of its events, those that are no instance's life and no quiet round."""
    yield "\nIts log (UTC), without the lives of instances, revivals and the rounds:\n"
    yield "```text"
    for line in diary.read_text().splitlines():
        if line[9:].startswith(LOGGED):
            yield line
    yield "```"
