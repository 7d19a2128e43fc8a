# SPDX-License-Identifier: Apache-2.0
import itertools

import numpy as np

from tests.placement.index.search.problems import drawn_problems
from trueup.placement.index.search.checks import LongerChoices, valid
from trueup.placement.index.search.partial_candidate import PartialCandidate, SearchProblem


def may_be_added(problem: SearchProblem, choice: tuple[int, ...]) -> bool | None:
    """Whether the last provider may be added to the others; None if those do not go together."""
    partial = PartialCandidate(problem, [])
    *others, last = choice
    return partial.add(last) if all(map(partial.add, others)) else None


def test_many_choices_are_judged_like_each_of_them() -> None:
    judged = {True: 0, False: 0}
    for seed, _, problem in drawn_problems(1500):
        offers = [sorted(set(slot.offers.positions.tolist())) for slot in problem.trees.slots]
        for length in range(1, len(offers) + 1):
            rows = [
                (row, expected)
                for row in itertools.islice(itertools.product(*offers[:length]), 300)
                if (expected := may_be_added(problem, row)) is not None
            ]
            if not rows:
                continue
            *before, added = np.array([row for row, _ in rows]).T
            choices = LongerChoices(tuple(before), np.arange(len(rows)), added)
            for answer, (row, expected) in zip(valid(problem, choices), rows, strict=True):
                assert answer == expected, f"seed {seed}: {row}"
                judged[expected] += 1
    assert min(judged.values()) > 200, judged
