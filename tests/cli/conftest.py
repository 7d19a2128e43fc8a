# SPDX-License-Identifier: Apache-2.0
"""Commands get a small broken cloud of tests/reconcile, and a folder of their own for journals.

`site_on(placement)` is a small cloud whose Nova can delete compute services.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.running import trueup

# Fixtures, which pytest finds by their names here.
from tests.reconcile.conftest import small, small_on, template
from tests.reconcile.small import Small, Template, running_copy

__all__ = ["small", "small_on", "template"]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def nova_conf(small, monkeypatch) -> Path:
    """The small cloud's, which commands find without being told."""
    monkeypatch.setenv("TRUEUP_NOVA_CONF", str(small.nova_conf))
    return small.nova_conf


@pytest.fixture(scope="session")
def planned(tmp_path_factory) -> Path:
    """Where the first test that asks for the plan leaves it: all copies of the cloud are alike."""
    return tmp_path_factory.mktemp("planned") / "plan.json"


@pytest.fixture
def plan_file(nova_conf, planned, tmp_path) -> Path:
    """A plan for all that is broken in the small cloud."""
    if not planned.exists():
        assert trueup("plan", "--interval", 0.01, "--out", planned).code == 3
    return Path(shutil.copy(planned, tmp_path / "plan.json"))


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
