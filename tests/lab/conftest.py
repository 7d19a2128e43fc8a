# SPDX-License-Identifier: Apache-2.0
"""Fixtures: one healthy cloud that tests only read, and small clouds that they may change."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

import pytest

from trueup.lab import SmallCloud, small_cloud
from trueup.lab.blueprint import Blueprint
from trueup.lab.generate import BlueprintOptions, generate_blueprint

NOW = datetime(2026, 11, 21, 12, 0, 0)
HOSTS, INSTANCES = 8, 80

CloudMaker = Callable[..., AbstractContextManager[SmallCloud]]


@pytest.fixture(scope="session")
def blueprint() -> Blueprint:
    return generate_blueprint(BlueprintOptions(seed=7, hosts=HOSTS, instances=INSTANCES, now=NOW))


@pytest.fixture(scope="session")
def make_cloud(tmp_path_factory: pytest.TempPathFactory) -> CloudMaker:
    """A function that makes a cloud of the tests' size and time in a new folder."""

    def make(**changes: Any) -> AbstractContextManager[SmallCloud]:
        wanted = {"seed": 7, "hosts": HOSTS, "instances": INSTANCES, "now": NOW} | changes
        return small_cloud(tmp_path_factory.mktemp("cloud"), **wanted)

    return make


@pytest.fixture(scope="session")
def healthy(make_cloud: CloudMaker) -> Iterator[SmallCloud]:
    """A cloud for reading only."""
    with make_cloud() as cloud:
        yield cloud
