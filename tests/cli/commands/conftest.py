# SPDX-License-Identifier: Apache-2.0
"""`site_on(placement)` is a small cloud whose Nova can delete compute services."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.reconcile.small import Small, Template, running_copy


@pytest.fixture
def site_on(
    template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Small]]:
    with ExitStack() as stack:

        def start(placement: str) -> Small:
            copy = running_copy(template, tmp_path / "cloud", placement, with_nova=True)
            small = stack.enter_context(copy)
            monkeypatch.setenv("TRUEUP_NOVA_CONF", str(small.nova_conf))
            return small

        yield start


@pytest.fixture(params=["trueup", "upstream"])
def site(request: pytest.FixtureRequest, site_on: Callable[[str], Small]) -> Small:
    """The test runs on Trueup's Placement and on upstream's."""
    return site_on(request.param)
