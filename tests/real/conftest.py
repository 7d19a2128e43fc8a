# SPDX-License-Identifier: Apache-2.0
"""One real cloud for all tests of this folder. `make real` runs them, and nothing else does.

Without `--real` they are not collected at all, so that nobody starts a cloud by accident and no
test is skipped for want of one. `make real-short`, which .ci/run calls, runs those that are marked
`short`: the incidents that operators described, and the swap of one Placement for the other.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cloud.catalog import TINY
from tests.real.cloud.cleaning import clean
from tests.real.cloud.logs import LogBook
from tests.real.cloud.openstack import Cloud, running_cloud
from tests.real.cloud.placement import KINDS
from tests.real.cloud.processes import wait_until
from tests.real.cloud.site import ENVIRONMENTS
from tests.real.cloud.tenant import Ledger, Tenant
from tests.real.cloud.trueup import FINDINGS, Trueup, nothing_is_left_to_repair
from tests.real.cloud.verified import Verified

HERE = Path(__file__).parent
LOGS_KEPT = ENVIRONMENTS / "logs"
# These have a target of their own.
OPTIONS = {"test_a_long_day.py": "--day", "test_tempest.py": "--tempest"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real", action="store_true", help="start a real OpenStack for tests/real")
    parser.addoption("--day", action="store_true", help="let tests/real/test_a_long_day.py run")
    parser.addoption("--tempest", action="store_true", help="let tests/real/test_tempest.py run")
    parser.addoption("--verified", type=Path, help="write what has passed to this page")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path.parent != HERE or collection_path.suffix != ".py":
        return None
    option = OPTIONS.get(collection_path.name, "--real")
    return None if config.getoption(option, default=False) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything on upstream's Placement, then everything on ours, then what needs both."""
    items.sort(key=_stage)


def _stage(item: pytest.Item) -> int:
    callspec = getattr(item, "callspec", None)
    kind = callspec.params.get("placement") if callspec else None
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "short: the incidents of operators, and the swap")
    if page := config.getoption("--verified", default=None):
        config.pluginmanager.register(Verified(page), "verified")


@pytest.fixture(scope="session")
def cloud(pytestconfig: pytest.Config) -> Iterator[Cloud]:
    """The control plane. Its logs are kept beside the environments."""
    folder = Path(tempfile.mkdtemp(prefix="trueup-real-"))
    try:
        with running_cloud(folder, KINDS[0]) as running:
            if verified := pytestconfig.pluginmanager.get_plugin("verified"):
                version = running.sql("placement", "SELECT VERSION()")[0][0]
                verified.note_servers(running.site.logs, version)
            yield running
    finally:
        shutil.rmtree(LOGS_KEPT, ignore_errors=True)
        if (folder / "logs").is_dir():
            shutil.copytree(folder / "logs", LOGS_KEPT)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def logbook(cloud: Cloud) -> LogBook:
    return LogBook(cloud.site.logs)


@pytest.fixture(scope="session", params=KINDS)
def placement(request: pytest.FixtureRequest, cloud: Cloud, logbook: LogBook) -> str:
    """The kind of Placement that serves Nova, Neutron and the clients."""
    logbook.begin(request.param)
    cloud.placement.swap_to(request.param)
    return request.param


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test of the cloud begins without instances, and leaves nothing that is held."""
    yield
    if "cloud" in request.fixturenames:
        assert clean(request.getfixturevalue("cloud")) == []


@pytest.fixture
def tenant(cloud: Cloud) -> Tenant:
    return Tenant(cloud.connection)


@pytest.fixture
def ledger(cloud: Cloud) -> Ledger:
    return Ledger(cloud.connection)


@pytest.fixture
def trueup(cloud: Cloud) -> Trueup:
    return Trueup(cloud.site)


@pytest.fixture
def settled(cloud, trueup, tenant, ledger):
    """Call it at the end with the touched hosts: nothing is left to repair, and Nova goes on."""

    def check(*hosts):
        assert nothing_is_left_to_repair(cloud.site, trueup)
        for host in hosts:
            server = tenant.boot(TINY, host)
            assert ledger.held_by(server.id) == {host: TINY.resources}
            tenant.delete(server)
            wait_until(lambda one=server: ledger.held_by(one.id) == {}, "nothing is held")

    return check


@pytest.fixture
def repaired(trueup, ledger):
    """Explain, rehearse, repair, undo, undo that: the defect, its subject, before and after."""

    def check(defect, subject, before, after):
        answer = trueup.audit()
        assert (answer.exit_code, answer.findings()) == (FINDINGS, [(defect, subject)])
        assert ledger.held_by(subject) == before
        assert trueup.explain("instance", subject)["findings"] == [f"{defect}:{subject}"]
        run = trueup.repair(rehearse=True)
        assert ledger.held_by(subject) == after
        undone = trueup.undo(run)
        assert ledger.held_by(subject) == before
        trueup.undo(undone)
        assert ledger.held_by(subject) == after

    return check
