# SPDX-License-Identifier: Apache-2.0
"""Audits and plans while instances boot, move and die: nothing that is alive is to be changed."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.real.cloud.churn import churn
from tests.real.cloud.configuration import SERVICE_DOWN_SECONDS
from tests.real.cloud.placement import KINDS
from tests.real.cloud.replica import replica_of
from tests.real.cloud.trueup import INCOMPLETE, Answer, Trueup

SECONDS = 60
AUDITS_OF_A_REPLICA = 4


@dataclass
class Watch:
    """What audits and plans said while instances came and went."""

    trueup: Trueup
    folder: Path
    rows: list[dict[str, Any]] = field(default_factory=list)
    planned: list[dict[str, Any]] = field(default_factory=list)
    audits: int = 0

    def audit(self) -> Answer:
        self.audits += 1
        file = self.folder / f"audit{self.audits}.json"
        answer = self.trueup.audit("--save", str(file))
        self.rows += [row | {"kept": file.name} for row in answer.rows]
        return answer

    def plan(self) -> None:
        self.planned += self.trueup.plan()[1].rows

    @property
    def findings(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["Verdict"] == "finding"]

    def record(self, record_property) -> None:
        record_property("audits", self.audits)
        record_property("findings", len(self.findings))
        record_property("not checked", len(self.rows) - len(self.findings))


@contextmanager
def watching(cloud, trueup, name) -> Iterator[Watch]:
    """Whoever looks into a failure finds what was said, and the observations, beside the logs."""
    folder = cloud.site.logs / f"live-{name}"
    folder.mkdir()
    watch = Watch(replace(trueup, while_busy=True), folder)
    try:
        yield watch
    finally:
        (folder / "said.json").write_text(json.dumps([watch.rows, watch.planned], indent=1))


def test_no_step_is_planned_for_what_is_alive(placement, cloud, trueup, record_property):
    deadline = time.monotonic() + SECONDS
    with watching(cloud, trueup, placement) as watch, churn(cloud, workers=2) as lives:
        while time.monotonic() < deadline:
            watch.audit()
            watch.plan()
    watch.record(record_property)
    record_property("instances", len(lives.ended))
    assert lives.failed == []
    assert lives.ended
    assert watch.findings == []
    assert watch.planned == []


def test_nothing_is_planned_from_a_replica_that_lags(cloud, trueup, logbook, record_property):
    logbook.begin("both")
    cloud.placement.swap_to(KINDS[-1])
    with (
        replica_of(cloud) as replica,
        watching(cloud, replace(trueup, sources=replica.options), "replica") as watch,
        churn(cloud, workers=2) as lives,
    ):
        for _ in range(AUDITS_OF_A_REPLICA):
            watch.audit()
        watch.plan()
        before = len(watch.findings)
        replica.stand_still()
        stopped_at = time.monotonic()
        watch.trueup = replace(watch.trueup, interval_seconds=SERVICE_DOWN_SECONDS)
        watch.plan()
        while time.monotonic() < stopped_at + SERVICE_DOWN_SECONDS:
            watch.audit()
        lagging = watch.audit()
        watch.plan()
    watch.record(record_property)
    record_property("instances", len(lives.ended))
    assert lives.failed == []
    assert lives.ended
    assert before == 0
    assert watch.planned == []
    assert lagging.exit_code == INCOMPLETE
    assert "its database may be a lagging replica" in lagging.said
