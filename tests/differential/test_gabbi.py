# SPDX-License-Identifier: Apache-2.0
"""Upstream's own HTTP tests pass against our service, on each kind of database.

On MariaDB by PyMySQL; `make conformance` runs them by mysqlclient as well.
`python -m tests.differential.gabbi_suite` runs the same by hand, with any implementation.
"""

import os

import pytest

from tests.differential.gabbi_suite.suite import TESTS_IN_ALL, content_of, file_names, run_file
from tests.servers.emptying import empty
from tests.servers.placement import IMPLEMENTATIONS
from tests.servers.sources import KINDS, MYSQLCLIENT

DRIVERS = (*KINDS, MYSQLCLIENT) if os.environ.get("TRUEUP_EXAMPLES") else KINDS
IMPLEMENTATION = os.environ.get("TRUEUP_TEST_IMPLEMENTATION", "trueup")


@pytest.mark.parametrize("upstream_database_url", DRIVERS, indirect=True)
@pytest.mark.parametrize("file", file_names())
def test_upstreams_file_passes(file: str, upstream_database_url: str) -> None:
    result = run_file(file, IMPLEMENTATIONS[IMPLEMENTATION], upstream_database_url)
    assert result.complete, result.report()


def test_no_file_and_no_test_is_lost() -> None:
    assert sum(len(content_of(file)["tests"]) for file in file_names()) == TESTS_IN_ALL


def test_the_suite_notices_a_fault(emptied_sqlite) -> None:
    empty(emptied_sqlite)
    result = run_file("usage", f"{__name__}:usages_broken", emptied_sqlite)
    assert not result.complete
    assert "500" in result.report()


def usages_broken(database_url: str, settings: dict):
    """Upstream's application, except that /usages ends with 500."""
    from tests.servers import upstream

    upstreams = upstream.make_app(database_url, settings)

    def application(environ, start_response):
        if not environ["PATH_INFO"].endswith("/usages"):
            return upstreams(environ, start_response)
        start_response("500 Internal Server Error", [("Content-Type", "text/plain")])
        return [b"broken"]

    application.close = upstreams.close
    return application
