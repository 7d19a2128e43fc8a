# SPDX-License-Identifier: Apache-2.0
"""A match: rounds of two requests each, and what was wrong afterwards."""

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.differential.calls import Call
from tests.differential.pair import Answer
from tests.races.arena import Arena, prepare
from tests.races.properties import broken, uuids
from tests.races.writes import WRITES

Pair = tuple[str, str]

PAIRS: Sequence[Pair] = tuple(itertools.combinations_with_replacement(WRITES, 2))
EXPECTED = frozenset({200, 201, 204, 400, 404, 409})


@dataclass(frozen=True, slots=True)
class Match:
    """Which two requests meet in which round."""

    pairs: Sequence[Pair]

    def prepare(self, url: str) -> None:
        """Write what they meet on."""
        prepare(url, self._arenas())

    def hands(self) -> list[list[Call]]:
        """The requests of each of the two, one for each round."""
        return [
            [WRITES[pair[player]](Arena(number)) for number, pair in enumerate(self.pairs)]
            for player in (0, 1)
        ]

    def unexpected(self, answers: Sequence[tuple[Answer, ...]]) -> Iterator[str]:
        """A line for each answer that no client should get."""
        for pair, given in zip(self.pairs, answers, strict=True):
            for name, answer in zip(pair, given, strict=True):
                if answer.status not in EXPECTED:
                    yield f"{name} (of {pair}) is answered with {answer.status}: {answer.body}"

    def lost(self, url: str, answers: Sequence[tuple[Answer, ...]]) -> Iterator[str]:
        """A line for each provider and consumer that was acknowledged and is not there."""
        present = uuids(url)
        for round_of_two in zip(zip(*self.hands(), strict=True), answers, strict=True):
            for call, answer in zip(*round_of_two, strict=True):
                made = _made_by(call)
                if answer.status < 300 and made and made not in present:
                    yield f"acknowledged with {answer.status} and lost: {call}"

    def broken(self, url: str) -> Iterator[str]:
        """A line for each row that breaks a rule, with the two that may have done it."""
        for line in broken(url):
            words = line.partition("round ")[2].split()
            yield f"{line} {self.pairs[int(words[0])] if words else ''}"

    def _arenas(self) -> list[Arena]:
        return [Arena(number) for number in range(len(self.pairs))]


def _made_by(call: Call) -> str | None:
    """The UUID of what a request makes that no other request takes away."""
    if call.method == "POST" and call.path == "/resource_providers":
        return json.loads(call.text or "")["uuid"]
    if call.method == "PUT" and call.path.startswith("/allocations/"):
        is_new = json.loads(call.text or "")["consumer_generation"] is None
        return call.path.rpartition("/")[2] if is_new else None
    return None


def shuffled(count: int, seed: int = 7) -> Match:
    """So many rounds, in which no pair meets again before every other one has met."""
    chance = random.Random(seed)
    every: list[Pair] = []
    while len(every) < count:
        every += chance.sample(PAIRS, len(PAIRS))
    # Either of the two may be the first player.
    return Match([pair if chance.random() < 0.5 else pair[::-1] for pair in every[:count]])
