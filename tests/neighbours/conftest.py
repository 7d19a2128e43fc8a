# SPDX-License-Identifier: Apache-2.0
"""`make neighbours` runs the tests of this folder, and nothing else does.

Without `--neighbours` they are not collected: the packages are in an environment of their own.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.keystone import keystone_for
from tests.neighbours.shared_cloud import SharedCloud, two_servers

# Fixtures, which pytest finds by their names here.
from tests.reconcile.conftest import template
from tests.reconcile.small import Template, running_copy

__all__ = ["template"]
HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--neighbours", action="store_true", help="run the tests of tests/neighbours")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    ours = collection_path.parent == HERE and collection_path.name.startswith("test_")
    return True if ours and not config.getoption("--neighbours", default=False) else None


@pytest.fixture(params=["trueup", "upstream"])
def cloud(
    template: Template,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[SharedCloud]:
    """A small cloud whose Placement, of both kinds, others may use."""
    copy = running_copy(template, tmp_path / "cloud", request.param, with_nova=True)
    with copy as small, keystone_for(small.placement_url) as login:
        monkeypatch.setenv("TRUEUP_NOVA_CONF", str(small.nova_conf))
        monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
        yield SharedCloud(small, login, *two_servers(small))
