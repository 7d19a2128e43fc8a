# SPDX-License-Identifier: Apache-2.0
"""The marker `quick`: the tests that `make quick` runs, on SQLite and without any server.

Unit and scenario tests are quick unless they ask for a server or take long. The marker
is set while tests are collected, so that no test carries it by hand.
"""

from functools import cache
from pathlib import Path

import pytest

from tests.long import is_long

MARKER = "quick"
TESTS = Path(__file__).parent
FOLDERS = (
    "model", "placement", "reconcile", "capacity", "load", "scenarios", "lab", "cli", "docs",
    "packaging",
)  # fmt: skip
# Fixtures that start a server, and the names of servers as parameters.
SERVERS = frozenset(
    {"browser", "mariadb_server", "postgresql_server", "recorded_cloud", "small_on"}
)
KINDS = frozenset({"mariadb", "mysqldb", "postgresql", "upstream"})
# Files, and folders of them, that compare many generated clouds, start the whole service in each
# test, run upstream programs or whole runbooks, or build a distribution.
SLOW = frozenset(
    {
        "cli/nova_manage",
        "cli/commands/test_capacity.py",
        "cli/commands/test_capacity_drain.py",
        "cli/commands/test_complete.py",
        "cli/commands/test_ghosts.py",
        "cli/commands/test_merge.py",
        "cli/commands/test_page.py",
        "cli/commands/test_rebuild.py",
        "cli/commands/test_rekey.py",
        "cli/commands/test_retire.py",
        "cli/test_runbook.py",
        "cli/commands/test_demo.py",
        "cli/terminal/test_extras.py",
        "cli/terminal/test_output.py",
        "cli/terminal/test_progress.py",
        "cli/test_start.py",
        "cli/test_verb.py",
        "cli/commands/test_shadow.py",
        "docs/test_package_page.py",
        "docs/test_pictures.py",
        "docs/test_site.py",
        "lab/test_drift.py",
        "packaging/test_ansible.py",
        "placement/api/wire/test_validators.py",
        "placement/index/search/test_candidates.py",
        "placement/index/test_emptiness.py",
        "placement/index/view/test_damage.py",
        "placement/index/view/test_foreign_writes.py",
        "placement/middleware/test_tracing.py",
        "placement/store/engine/test_write_slots.py",
        "placement/store/test_migrations.py",
        "placement/test_manage.py",
        "placement/test_worker.py",
        "placement/why/test_explain.py",
        "reconcile/changes/test_allocations.py",
        "reconcile/changes/test_placement_targets.py",
        "reconcile/collect/test_selected.py",
        "reconcile/collect/test_selected_reading.py",
        "reconcile/plan/test_order.py",
        "reconcile/plan/test_plan_file.py",
        "reconcile/runs/test_undo.py",
        "reconcile/sinks/test_courier.py",
        "reconcile/sinks/test_process.py",
        "reconcile/sources/nova/test_specs.py",
        "reconcile/sources/placement/test_contract.py",
        "reconcile/sources/placement/test_usages.py",
        "reconcile/watch/test_monitoring.py",
        "test_halves.py",
        "test_skips.py",
        "test_wsgi.py",
    }
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}: unit and scenario tests that start no server")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """PERF: `-m quick` does not even import what has no quick test; that takes a second or two."""
    path = collection_path.relative_to(TESTS) if collection_path.is_relative_to(TESTS) else Path()
    return True if config.option.markexpr == MARKER and not _may_be_quick(path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_quick(item):
            item.add_marker(MARKER)


def is_quick(item: pytest.Item) -> bool:
    """Whether this is a unit or scenario test that no server is started for."""
    path = item.path.relative_to(TESTS)
    fixtures = set(getattr(item, "fixturenames", ()))
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    named = {value for value in parameters.values() if isinstance(value, str)}
    quick = _may_be_quick(path) and not is_long(item)
    return quick and not fixtures & SERVERS and not named & KINDS


# PERF: once for each file; there are twenty times as many tests.
@cache
def _may_be_quick(path: Path) -> bool:
    """Whether a file, or folder, may have quick tests; relative to the folder of all tests."""
    inside = (path.suffix == ".py" and len(path.parts) == 1) or {*path.parts[:1]} <= {*FOLDERS}
    return inside and not any(path.is_relative_to(one) for one in SLOW)
