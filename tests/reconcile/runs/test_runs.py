# SPDX-License-Identifier: Apache-2.0
"""What commands call: observing a cloud twice, and planning what both observations found."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Lock
from typing import Any

import pytest

from tests.reconcile.small import Small
from trueup.reconcile.audit import CHANGED, IntervalInvalid, ObservedTooSoon, audit
from trueup.reconcile.clock import now
from trueup.reconcile.collect import collect
from trueup.reconcile.report.tables import RUNS_COLUMNS, runs_table
from trueup.reconcile.runs import Observer, applied, plan, plan_of_facts
from trueup.reconcile.runs.journals import runs as runs_in
from trueup.reconcile.sources.nova.contract import CellContents, CountInstances, NovaCell
from trueup.reconcile.verdicts import AuditOptions

INTERVAL = timedelta(hours=1)


def quiet(*_: object) -> None:
    """No progress."""


def observer(small: Small) -> Observer:
    return Observer(small.cloud, AuditOptions(), quiet)


def test_it_waits_until_the_first_observation_is_an_interval_old(small):
    looking = observer(small)
    first = looking.observe().audit
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        plan(looking, first, INTERVAL, wait)
    assert 3500 < waits[0] <= 3600


def test_suspects_that_may_pass_are_read_again_after_a_pause(small, monkeypatch):
    paused = []
    looking = replace(observer(small), pause=paused.append)
    assert looking.observe().audit.findings
    assert paused == []
    monkeypatch.setattr("trueup.reconcile.runs.runs.settling_seconds", lambda _: 7)
    assert looking.observe().audit.findings
    assert paused == [7]


def test_a_wrong_owner_among_many_suspects_is_confirmed(small_on):
    """More suspects than hosts are read again with the whole ledger, where upstream's Placement
    names no owners."""
    small = small_on("upstream")
    alive = [row.uuid for row in collect(small.cloud, quiet).alive.values()]
    one, *others = [uuid for uuid in alive if small.holding(uuid)["allocations"]]
    path, held = f"/allocations/{one}", small.holding(one)
    body = {**held, "project_id": "another-project"}
    body["allocations"] = {
        uuid: {"resources": row["resources"]} for uuid, row in held["allocations"].items()
    }
    assert small.call("PUT", path, body).status_code == 204
    for uuid in others:
        assert small.call("DELETE", f"/allocations/{uuid}").status_code == 204
    found = replace(observer(small), owners=True).observe().audit.findings
    assert ("wrong-owner", one) in {(row.defect, row.subject.uuid) for row in found}
    assert len(found) > len(collect(small.cloud, quiet).compute_nodes)


def test_an_old_first_observation_is_not_waited_for(small):
    looking = observer(small)
    first = replace(looking.observe().audit, taken_at=now() - INTERVAL)
    planned = plan(looking, first, INTERVAL, lambda _: pytest.fail("nothing to wait for"))
    assert len(planned.plan.steps) == len(first.findings) == 4
    assert planned.plan.first_at == first.taken_at
    assert planned.plan.made_at == planned.second.audit.taken_at


def test_a_run_that_is_interrupted_knows_the_write_that_is_under_way(small, monkeypatch):
    looking = observer(small)
    first = replace(looking.observe().audit, taken_at=now() - INTERVAL)
    planned = plan(looking, first, INTERVAL, lambda _: None).plan
    send = small.cloud.placement.send

    def interrupted(method: str, path: str, *rest: Any) -> Any:
        if planned.steps[1].consumers[0] in path:
            raise KeyboardInterrupt
        return send(method, path, *rest)

    monkeypatch.setattr(small.cloud.placement, "send", interrupted)
    with applied(planned, small.cloud, small.folder / "journal") as run:
        assert run.attempted() == ()
        with pytest.raises(KeyboardInterrupt):
            list(run.outcomes)
        found = run.attempted()
    assert [step.id for step, _ in found] == [step.id for step in planned.steps[:2]]
    assert [outcome.result for _, outcome in found] == ["done", "unknown"]
    [row] = runs_table(runs_in(small.folder / "journal"))[1]
    assert dict(zip(RUNS_COLUMNS, row, strict=True)).items() >= {"Unknown": 1, "Open": 2}.items()


def test_no_interval_is_refused_before_anything_is_read(small):
    looking = observer(small)
    first = looking.observe().audit
    small.cloud.close()
    with pytest.raises(IntervalInvalid):
        plan(replace(looking, cloud=None), first, timedelta(), lambda _: None)


def test_kept_facts_confirm_only_what_was_observed_an_interval_before(small):
    second = observer(small).observe()
    holdings = small.cloud.placement.holdings([row.subject.uuid for row in second.audit.findings])
    facts = replace(second.facts, holdings=holdings)
    with pytest.raises(ObservedTooSoon):
        plan_of_facts(facts, second.audit, INTERVAL, AuditOptions())
    first = replace(second.audit, taken_at=second.audit.taken_at - INTERVAL)
    assert len(plan_of_facts(facts, first, INTERVAL, AuditOptions()).plan.steps) == 4


@dataclass
class MovedMeanwhile:
    """Nova, in which an instance moves to another node while the cells are read for the first
    time, and its allocation with it. Nova's clock is behind ours: its row does not look newer.
    """

    small: Small
    uuid: str
    source: str
    target: str
    moved: bool = False
    lock: Lock = field(default_factory=Lock)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.small.cloud.nova, name)

    def contents(self, cell: NovaCell, counted: CountInstances) -> CellContents:
        # Cells are read side by side: each of them waits until it has moved.
        with self.lock:
            if not self.moved:
                self.moved = True
                self._move()
        return self.small.cloud.nova.contents(cell, counted)

    def _move(self) -> None:
        small, uuid = self.small, self.uuid
        held = small.holding(uuid)
        held["allocations"][self.target] = held["allocations"].pop(self.source)
        answer = small.call("PUT", f"/allocations/{uuid}", held, 36)
        assert answer.status_code == 204, answer.text
        for column, of_node in (("host", "host"), ("node", "hypervisor_hostname")):
            chosen = f"(SELECT {of_node} FROM compute_nodes WHERE uuid = ?)"
            small.sql(
                CELL, f"UPDATE instances SET {column} = {chosen} WHERE uuid = ?", self.target, uuid
            )


CELL = "nova_cell1"
SETTLED = (
    "SELECT instances.uuid AS instance, compute_nodes.uuid AS node FROM instances "
    "JOIN compute_nodes ON compute_nodes.hypervisor_hostname = instances.node "
    "WHERE instances.deleted = 0 AND vm_state = 'active' AND task_state IS NULL"
)


def moving(small: Small) -> tuple[Observer, str]:
    """An observer of a cloud that moves while it is read, and the instance that moves."""
    wrong = {planted.consumer_uuid for planted in small.planted.values()}
    rows = [row for row in small.sql(CELL, SETTLED) if row["instance"] not in wrong]
    row = rows[0]
    target = min({one["node"] for one in rows} - {row["node"]})
    nova = MovedMeanwhile(small, row["instance"], row["node"], target)
    return replace(observer(small), cloud=replace(small.cloud, nova=nova)), row["instance"]


def test_a_move_while_the_cloud_is_read_is_no_finding(small):
    looking, uuid = moving(small)
    seen = looking.observe().audit
    assert uuid not in {row.subject.uuid for row in seen.findings}
    assert uuid not in {row.subject.uuid for row in seen.unchecked}
    assert [row.reason for row in seen.left_alone if row.subject.uuid == uuid] == [CHANGED]
    assert len(seen.findings) == 4, "what was planted is there when it is read again"


def test_read_once_such_a_move_looks_like_drift(small):
    """Otherwise the test above would hold without saying anything."""
    looking, uuid = moving(small)
    facts = collect(looking.cloud, looking.progress)
    assert uuid in {row.subject.uuid for row in audit(facts, AuditOptions()).findings}
