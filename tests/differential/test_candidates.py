# SPDX-License-Identifier: Apache-2.0
"""Invariant 4: without a limit, the set of candidates equals upstream's.

Forests of the shapes that clouds have, and questions to them, sent to both services.
"""

import os
import random
from pathlib import Path

import pytest

from tests.differential.calls import Absent, Draft
from tests.differential.forests import NEWEST, draw_question, plant
from tests.differential.pair import Difference, TwinFactory
from tests.placement.index.clouds import Host

EXAMPLES = os.environ.get("TRUEUP_EXAMPLES")
FORESTS, QUESTIONS_TO_A_FOREST = 25, 14
TRAITS = ("CUSTOM_FAST", "CUSTOM_SMALL")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forests")


@pytest.fixture(scope="module")
def twins(folder: Path) -> TwinFactory:
    return TwinFactory(
        folder, [Draft("PUT", f"/traits/{name}", NEWEST, Absent()) for name in TRAITS]
    )


def test_invariant_4_candidates_are_those_of_upstream(folder: Path, twins: TwinFactory) -> None:
    """As many seeds as TRUEUP_EXAMPLES says, and other ones in each run; else always the same."""
    first = random.randrange(2**40) if EXAMPLES else 0
    for seed in range(first, first + int(EXAMPLES or FORESTS)):
        cloud, drafts = draw_question(random.Random(seed), QUESTIONS_TO_A_FOREST)
        try:
            ask(folder, twins, cloud, drafts)
        except Difference as error:
            raise AssertionError(f"seed {seed}: {cloud}\n{error}") from error


def ask(folder: Path, twins: TwinFactory, cloud: list[Host], drafts: list[Draft]) -> None:
    with twins.pair(in_use=True) as pair:
        for name in ("upstream", "trueup"):
            plant(folder / f"{name}.sqlite", cloud)
        for one in drafts:
            pair.send(one)
