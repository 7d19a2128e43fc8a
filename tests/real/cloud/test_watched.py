# SPDX-License-Identifier: Apache-2.0
"""What a watch confirms is right only if plain SQL saw it wrong, with nothing under way."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.real.cloud import watched
from tests.real.cloud.discrepancies import Discrepancy
from tests.real.cloud.watched import Diary, Observer

BEGAN = datetime(2026, 1, 1)
FINDING = "orphaned-allocation:server"
WRONG = Discrepancy("server", {}, {"node": {"VCPU": 1}}, under_way=False)
MOVES = Discrepancy("server", {}, {"node": {"VCPU": 1}}, under_way=True)


@dataclass
class Cloud:
    """Its watch remembers one finding, which was there in rounds so many seconds apart."""

    folder: Path
    seconds: int

    site = processes = property(lambda self: self)

    def pid(self, name):
        return "self"

    def state(self, name):
        last = BEGAN + timedelta(seconds=self.seconds)
        sighting = {
            "id": FINDING,
            "uuid": "server",
            "first_seen": BEGAN.isoformat(),
            "last_seen": last.isoformat(),
        }
        rounds = [{"at": last.isoformat(), "state": "complete"}]
        memory = {"rounds": rounds, "sightings": [sighting]}
        (self.folder / "watch.json").write_text(json.dumps({"memory": memory}))
        return self.folder


@pytest.mark.parametrize(
    ("seconds", "sql_sees", "planted", "judged"),
    [
        (60, {"server": WRONG}, {}, ([FINDING], [])),
        (60, {}, {}, ([], [FINDING])),
        (60, {"server": MOVES}, {}, ([], [FINDING])),
        (60, {}, {FINDING: "lost"}, ([], [])),
        (59, {}, {}, ([], [])),
    ],
)
def test_a_confirmed_finding(tmp_path, monkeypatch, seconds, sql_sees, planted, judged):
    monkeypatch.setattr(watched, "discrepancies", lambda cloud: sql_sees)
    cloud, diary = Cloud(tmp_path, seconds), Diary(tmp_path / "diary.txt")
    observer = Observer(cloud, diary, planted)
    observer.look()
    observer.look()
    assert (list(observer.true), observer.false) == judged
    assert len(observer.memory_kib) == 1
