# SPDX-License-Identifier: Apache-2.0
"""What `Repairer` does after a round; whole clouds: tests/simulator/test_repairs.py."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from tests.reconcile.page.paging import seen
from tests.reconcile.plan.policies import in_force
from tests.reconcile.planning import BROKEN, planned
from tests.reconcile.watch.watching import at, seen_at
from trueup.reconcile.audit import Audit
from trueup.reconcile.files import FileUnwritable
from trueup.reconcile.plan import Plan
from trueup.reconcile.plan.narrowed import without
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.runs import Planned
from trueup.reconcile.runs.journal import Origin, Outcome
from trueup.reconcile.runs.journals import applying, read
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.verdicts.verified import State, Verified
from trueup.reconcile.watch import repairing
from trueup.reconcile.watch.memory import Memory, after_round
from trueup.reconcile.watch.repairing import REPAIRS, STOPPED, Desk, Permit, Repairer, RunEnd

POLICY = (
    "default = 'automatic'\n[automatic]\nrounds = 2\nfindings_share = 1.0\npause = '/no/pause'\n"
)
# As many findings as consumers.
CLOUD = BROKEN.replace("  server web on h1 VCPU=2 MEMORY_MB=256 DISK_GB=6\n", "")
# Two findings of one host that are repaired without a person.
TWO = CLOUD.replace("holds db h2", "  server fine on h2 VCPU=1 MEMORY_MB=128\nholds fine h2")
CLOSED = f"{POLICY}[[freeze]]\nfrom = 2000-01-01T00:00:00Z\nto = 2999-01-01T00:00:00Z\n"


@dataclass
class FakeCloud:
    """Plans what the cloud of these tests lacks, and ends each run as it is told."""

    folder: Path
    result: str = "done"
    state: State = State.GONE
    error: Exception | None = None
    runs: list[str] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)
    before_a_step: Callable[[], None] = lambda: None

    def plan(self, first: Audit) -> Planned:
        return Planned(planned(CLOUD), seen(CLOUD))

    def rehearse(self, plan: Plan) -> Reason | None:
        return None

    def apply(self, plan: Plan, permit: Permit) -> RunEnd:
        self.runs.append(plan.id)
        with applying(plan, self.folder, Origin(unattended=True)) as journal:
            self.before_a_step()
            permit()
            journal.intend(*plan.steps)
            if self.error:
                raise self.error
            outcomes = [(step, Outcome(step.id, self.result)) for step in plan.steps]
            journal.record(*(outcome for _, outcome in outcomes))
        return RunEnd(journal.run, outcomes, [Verified(row, self.state) for row in plan.findings])

    def go_on(self, run: str, permit: Permit) -> RunEnd:
        self.continued.append(run)
        return RunEnd(run, (), ())

    def close(self, run: str) -> bool:
        return True


@dataclass
class Scene:
    """A repairer, and the rounds that it gets, ten minutes apart."""

    folder: Path
    policy: str = POLICY
    said: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    minutes: int = 0

    def __post_init__(self) -> None:
        self.cloud = FakeCloud(self.folder)
        self.start()

    def start(self) -> None:
        desk = Desk(
            folder=self.folder,
            policies=lambda: in_force(self.policy),
            clock=self.clock,
            say=self.said.append,
            send=lambda message: self.told.append(message.kind),
            explain=str,
        )
        self.repairer = Repairer(self.cloud, desk)

    def clock(self) -> datetime:
        return at(self.minutes)

    def rounds(self, number: int, text: str = CLOUD) -> None:
        for _ in range(number):
            self.minutes += 10
            one = seen_at(text, self.minutes)
            self.memory = after_round(self.memory, one.audit, one.facts.cells, 1.0)
            self.repairer.after_round(one, self.memory)

    @property
    def why(self) -> str:
        stop = self.repairer.state.stopped
        return stop.reason.name if stop else ""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_repair_is_announced_in_one_round_and_made_in_the_next(scene):
    scene.rounds(2)
    assert (scene.told, scene.cloud.runs) == (["repair-announced"], [])
    scene.rounds(1)
    assert (len(scene.cloud.runs), scene.told[-1]) == (1, "repair-ended")
    assert (scene.why, scene.repairer.state.running) == ("", "")


@pytest.mark.parametrize(
    ("result", "state", "why"),
    [
        ("refused", State.GONE, "repair-refused"),
        ("done", State.STILL_THERE, "repair-not-verified"),
        ("done", State.OTHER, "repair-not-verified"),
        ("done", State.NOT_JUDGED, "repair-not-verified"),
    ],
)
def test_what_does_not_end_as_it_should_stops_everything(scene, result, state, why):
    scene.cloud.result, scene.cloud.state = result, state
    scene.rounds(3)
    assert scene.why == why
    scene.rounds(3)
    scene.start()
    scene.rounds(3)
    assert (scene.why, len(scene.cloud.runs)) == (why, 1), "after a restart too"


def test_while_a_policy_is_closed_nothing_is_repaired_and_nothing_stops(scene):
    scene.rounds(2)
    scene.policy = CLOSED
    scene.rounds(2)
    assert (scene.why, scene.cloud.runs) == ("", [])
    assert "Nothing is repaired now" in scene.repairer.note
    scene.policy = POLICY
    scene.rounds(1)
    assert len(scene.cloud.runs) == 1


def test_a_policy_that_no_longer_permits_it_and_one_that_cannot_be_read(scene):
    scene.rounds(2)
    scene.policy = "default = 'automatic'"
    scene.rounds(1)
    assert (scene.why, scene.cloud.runs) == ("", [])
    scene.policy = "nonsense"
    scene.rounds(1)
    assert (scene.why, scene.cloud.runs) == ("repair-failed", [])


def test_a_round_that_failed_stops_everything(scene):
    scene.rounds(1)
    scene.repairer.after_round(None, scene.memory)
    assert scene.why == "repair-round-failed"


def test_a_run_that_was_interrupted_is_continued_after_the_stop(scene):
    scene.cloud.error = Unreachable("Placement", "it is down")
    scene.rounds(3)
    assert scene.why == "repair-failed"
    (scene.folder / STOPPED).unlink()
    scene.rounds(1)
    [run] = scene.cloud.continued
    assert run.startswith(scene.cloud.runs[0])


def test_a_run_that_is_too_old_leaves_a_sentence(scene):
    scene.cloud.error = Unreachable("Placement", "it is down")
    scene.rounds(3)
    (scene.folder / STOPPED).unlink()
    scene.minutes += 120
    scene.rounds(1)
    assert scene.cloud.continued == []
    assert any("is not continued" in words for words in scene.said)
    assert scene.repairer.state.running == ""


def test_without_a_place_for_the_budget_nothing_is_written(scene, monkeypatch):
    scene.rounds(2)

    def full(path: Path, content: object) -> None:
        raise FileUnwritable(str(path), "No space left on device")

    monkeypatch.setattr(repairing, "keep", full)
    monkeypatch.setattr(repairing.files, "write", full)
    scene.rounds(2)
    assert (scene.cloud.runs, scene.why) == ([], "repair-failed")
    assert not (scene.folder / STOPPED).exists()


@pytest.mark.parametrize(
    "memory",
    [
        {"spent": [{"at": "2026-11-21T12:00:00Z", "subjects": 1}]},
        {"spent": [{"at": "2026-11-21T12:00:00", "subjects": -1}]},
        {"repaired": {"a-finding": "2026-11-21T12:00:00+01:00"}},
        {"announced": 5},
    ],
)
def test_a_memory_that_somebody_edited_or_damaged_stops_everything(scene, memory):
    text = json.dumps({"format": 1, "memory": memory})
    for damaged in (text, text[:-1]):
        (scene.folder / REPAIRS).write_text(damaged)
        (scene.folder / STOPPED).unlink(missing_ok=True)
        scene.start()
        assert scene.why == "repair-memory-lost"
        assert f"what {scene.folder / REPAIRS} remembers" in scene.said[-1]


def test_a_memory_that_is_deleted_gives_no_new_budget(scene):
    scene.rounds(3)
    [repaired] = scene.repairer.state.repaired
    (scene.folder / REPAIRS).unlink()
    scene.start()
    assert [one.subjects for one in scene.repairer.state.spent] == [1]
    assert list(scene.repairer.state.repaired) == [repaired]
    scene.rounds(1)
    assert scene.why == "repair-came-back", "its repair is known too"
    [journal] = scene.folder.glob("*.jsonl")
    journal.write_text(f"x{journal.read_text()}")
    for name in (REPAIRS, STOPPED):
        (scene.folder / name).unlink()
    scene.start()
    assert scene.why == "repair-memory-lost"


def test_a_run_without_its_memory_is_continued(scene):
    scene.cloud.error = Unreachable("Placement", "it is down")
    scene.rounds(3)
    for name in (REPAIRS, STOPPED):
        (scene.folder / name).unlink()
    scene.cloud.error = None
    scene.start()
    scene.rounds(1)
    assert len(scene.cloud.continued) == 1


@pytest.mark.parametrize("policy", [CLOSED, "default = 'automatic'"])
def test_a_policy_that_changes_amid_a_run_ends_it_before_the_next_step(scene, policy):
    """Nothing stops for that: the run is continued once it is permitted again."""
    scene.cloud.before_a_step = lambda: setattr(scene, "policy", policy)
    scene.rounds(4)
    assert (scene.why, len(scene.cloud.runs), scene.cloud.continued) == ("", 1, [])
    assert "Nothing is repaired" in scene.repairer.note
    assert scene.cloud.runs[0] in scene.repairer.note
    scene.policy = POLICY
    scene.rounds(1)
    assert len(scene.cloud.continued) == 1


def test_a_rule_that_is_changed_amid_a_run_holds_for_its_next_step(scene):
    forbids = POLICY.replace("'automatic'", "'never'")
    scene.cloud.before_a_step = lambda: setattr(scene, "policy", forbids)
    scene.rounds(3)
    [run] = scene.cloud.runs
    assert not read(run, scene.folder).attempted
    assert (scene.why, "was changed during the run" in scene.repairer.note) == ("", True)
    scene.rounds(1)
    assert any("is not continued" in words for words in scene.said)
    assert (scene.why, scene.repairer.state.running) == ("", "")


def test_what_appears_after_an_announcement_counts_for_the_size(scene, monkeypatch):
    few = TWO.replace("holds old h1 VCPU=2 MEMORY_MB=256 DISK_GB=6\n", "")
    scene.policy = POLICY.replace("'automatic'", "'ask'")
    scene.policy += "[[rule]]\ndecision = 'automatic'\nsubjects_max = 1\n"

    def plan(first: Audit) -> Planned:
        whole = planned(TWO)
        ids = {row.id for row in whole.findings} - {row.id for row in first.findings}
        return Planned(without(whole, ids), seen(TWO))

    monkeypatch.setattr(scene.cloud, "plan", plan)
    scene.rounds(1, few)
    scene.rounds(1, TWO)
    assert scene.told == ["repair-announced"]
    scene.rounds(1, TWO)
    assert (scene.why, scene.cloud.runs) == ("", []), "two could be repaired now"
    assert "subjects_max = 1" in scene.repairer.note


LOST = because("written-before-lost", noun="allocations")


@pytest.mark.parametrize(
    ("result", "reason", "why"),
    [("done", None, ""), ("refused", None, "repair-refused"), ("refused", LOST, "repair-refused")],
)
def test_a_run_that_is_left_was_a_repair_too(scene, monkeypatch, result, reason, why):
    def apply(plan: Plan, permit: Permit) -> RunEnd:
        scene.cloud.runs.append(plan.id)
        with applying(plan, scene.folder, Origin()) as journal:
            journal.record(Outcome(plan.steps[0].id, result, reason))
        raise Unreachable("Placement", "it is down")

    monkeypatch.setattr(scene.cloud, "apply", apply)
    monkeypatch.setattr(scene.cloud, "plan", lambda first: Planned(planned(TWO), seen(TWO)))
    scene.rounds(3, TWO)
    (scene.folder / STOPPED).unlink()
    scene.minutes += 120
    scene.policy = POLICY.replace("'automatic'", "'ask'")
    scene.rounds(1, TWO)
    assert any("is not continued" in words for words in scene.said)
    assert (scene.why, scene.repairer.state.running) == (why, "")
    [step, _] = planned(TWO).steps
    assert set(scene.repairer.state.repaired) == set(
        step.because if result == "done" or reason else ()
    )


def test_what_a_person_has_prevented_is_announced_again_after_the_stop(scene):
    scene.rounds(2)
    (scene.folder / STOPPED).touch()
    scene.rounds(2)
    assert scene.why == "repair-paused"
    (scene.folder / STOPPED).unlink()
    scene.rounds(1)
    assert (scene.told[-1], scene.cloud.runs) == ("repair-announced", [])
    scene.rounds(1)
    assert len(scene.cloud.runs) == 1
