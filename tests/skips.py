# SPDX-License-Identifier: Apache-2.0
"""With TRUEUP_FORBID_SKIPS=1 a skipped test counts as failed."""

import os
from collections.abc import Generator

import pytest

VARIABLE = "TRUEUP_FORBID_SKIPS"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # An expected failure is reported as a skip, but it did run.
    if not hasattr(report, "wasxfail"):
        _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse(report)
    return report


def _refuse(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and os.environ.get(VARIABLE) == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{VARIABLE}=1 forbids this: {reason}"
