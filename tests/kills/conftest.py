# SPDX-License-Identifier: Apache-2.0
"""`site("trueup" | "upstream")`: one site a session for each Placement; `tracing` runs commands."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from tests.kills.site import Site, running_site
from tests.kills.tracing import Tracing, tracer
from tests.reconcile.small import build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Site]]:
    template = build(tmp_path_factory.mktemp("kills") / "cloud", failed=1)
    with ExitStack() as stack:

        @cache
        def start(placement: str) -> Site:
            folder = tmp_path_factory.mktemp(placement) / "cloud"
            return stack.enter_context(running_site(template, folder, placement))

        yield start


@pytest.fixture(scope="session")
def tracing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracing]:
    with tracer(tmp_path_factory.mktemp("tracer")) as running:
        yield running
