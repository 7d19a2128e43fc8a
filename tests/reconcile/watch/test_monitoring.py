# SPDX-License-Identifier: Apache-2.0
"""The alerts and the dashboard of `trueup watch`, in a real Prometheus that scrapes one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.reconcile.planning import BROKEN
from tests.reconcile.watch.watching import FITS, scene, seen_at
from tests.servers.processes import poll
from tests.servers.prometheus import MONITORING, prometheus, query, rules
from trueup.reconcile.watch.server import serving

SILENT = f"{BROKEN}  server lost on h9\ncell2 silent\n"


@contextmanager
def scraping(text: str, folder: Path) -> Iterator[int]:
    """A Prometheus that scrapes a watch, which has seen this cloud in two rounds."""
    rounds = [seen_at(text, 0), seen_at(text, 5)]
    status = scene(rounds, folder / "x", count=lambda _: FITS).watcher.status
    with (
        serving("127.0.0.1", 0, lambda: status) as watch,
        prometheus(folder, {9808: watch}) as port,
    ):
        assert poll(lambda: bool(query(port, 'up{job="trueup-watch"} == 1')), 30)
        yield port


def alerting(port: int) -> set[str]:
    """The alerts whose condition holds; some of them wait before they fire."""
    return {rule["name"] for rule in rules(port) if rule["state"] in ("pending", "firing")}


ANY = {"LedgerHasSevereFindings", "HostFailureNotAbsorbed"}
COMPLETE = {"LedgerHasFindings", "LedgerCapacityPhantom"}
INCOMPLETE = {"WatchSourceSilent", "WatchSubjectsUnchecked"}
NEVER = {
    "WatchDown", "WatchNeverSucceeded", "WatchNotificationsFail", "WatchRepairsStopped",
    "CapacityNotCounted",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected", "others"),
    [(BROKEN, ANY | COMPLETE, INCOMPLETE), (SILENT, ANY | INCOMPLETE, COMPLETE)],
    ids=["complete", "a silent cell"],
)
def test_findings_and_silent_sources_raise_alerts(text, expected, others, tmp_path):
    with scraping(text, tmp_path) as port:
        assert poll(lambda: expected <= alerting(port), 30), alerting(port)
        assert not alerting(port) & (others | NEVER)
        assert {rule["health"] for rule in rules(port)} == {"ok"}


def expressions() -> dict[str, str]:
    """What each panel of the dashboard asks, with Grafana's variables replaced."""
    board = json.loads((MONITORING / "trueup-watch-dashboard.json").read_text())
    return {
        f"{panel['title']}, {target['refId']}": target["expr"].replace("$instance", ".*")
        for panel in board["panels"]
        for target in panel["targets"]
    }


def test_every_panel_of_the_dashboard_shows_something(tmp_path):
    asked = expressions()
    assert len(asked) == 15
    with scraping(SILENT, tmp_path) as port:

        def empty() -> list[str]:
            return [name for name, expression in asked.items() if not query(port, expression)]

        assert poll(lambda: not empty(), 30), empty()
