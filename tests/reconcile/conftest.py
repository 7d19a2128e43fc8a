# SPDX-License-Identifier: Apache-2.0
"""`small` is a broken cloud that a test may break further; `small_on(placement)` says on whose."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.reconcile.small import Small, Template, build, running_copy


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return build(tmp_path_factory.mktemp("template") / "cloud")


@pytest.fixture
def small_on(template: Template, tmp_path: Path) -> Iterator[Callable[[str], Small]]:
    with ExitStack() as stack:
        yield lambda placement: stack.enter_context(
            running_copy(template, tmp_path / "cloud", placement)
        )


@pytest.fixture
def small(small_on: Callable[[str], Small]) -> Small:
    return small_on("trueup")


@pytest.fixture(params=["trueup", "upstream"])
def on_both(request: pytest.FixtureRequest, small_on: Callable[[str], Small]) -> Small:
    """The test runs on Trueup's Placement and on upstream's."""
    return small_on(request.param)
