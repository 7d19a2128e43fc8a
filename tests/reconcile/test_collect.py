# SPDX-License-Identifier: Apache-2.0
"""Collect: one picture of a cloud, and who answered for it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.reconcile.small import Small
from trueup.reconcile.audit import audit
from trueup.reconcile.collect import collect, with_holdings
from trueup.reconcile.facts import Domain, Facts, Holding
from trueup.reconcile.runs import Observer
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.libvirt import HostDomains
from trueup.reconcile.verdicts import AuditOptions


def quiet(stage: str, done: int, total: int) -> None:
    """Nobody watches."""


def facts_of(small: Small) -> Facts:
    return collect(small.cloud, quiet)


def database(small: Small, name: str):
    return small.folder / f"nova_{name}.sqlite"


def test_every_source_is_in_the_coverage(small):
    facts = facts_of(small)
    assert facts.coverage.complete
    assert [answer.source for answer in facts.coverage.sources] == [
        "Placement", "Nova's API database", "cell0", "cell1", "cell2"
    ]  # fmt: skip
    assert all(answer.rows > 0 for answer in facts.coverage.sources)
    assert sorted(facts.cells.values()) == ["cell0", "cell1", "cell2"]


def test_the_picture_has_what_is_there(small):
    facts = facts_of(small)
    kept = small.sql("placement", "SELECT DISTINCT consumer_id FROM allocations")
    assert facts.consumers.keys() == {row["consumer_id"] for row in kept}
    alive = [
        row["uuid"]
        for cell in ("cell0", "cell1", "cell2")
        for row in small.sql(f"nova_{cell}", "SELECT uuid FROM instances WHERE deleted = 0")
    ]
    assert sorted(facts.alive) == sorted(alive)
    assert {node.uuid for node in facts.compute_nodes} == facts.providers.keys()
    builds = small.sql("nova_api", "SELECT instance_uuid FROM build_requests")
    assert facts.builds == {row["instance_uuid"] for row in builds}
    assert facts.holdings == {}


def test_only_deleted_instances_that_hold_something_are_read(small):
    facts = facts_of(small)
    assert facts.deleted.keys() == {small.consumer("orphaned-allocation")}


def test_the_picture_is_dated_before_it_is_read(small):
    before = datetime.now(UTC).replace(tzinfo=None)
    moments: list[datetime] = []
    facts = collect(small.cloud, lambda *_: moments.append(datetime.now(UTC).replace(tzinfo=None)))
    assert before <= facts.taken_at <= moments[0]


def test_progress_goes_up_to_the_end(small):
    reported: dict[str, list[tuple[int, int]]] = {}
    collect(small.cloud, lambda stage, *counts: reported.setdefault(stage, []).append(counts))
    assert reported["cells"] == [(1, 3), (2, 3), (3, 3)]
    assert reported["providers"][-1] == (6, 6)


def test_holdings_are_added_for_those_who_are_asked_for(small):
    orphan, missing = small.consumer("orphaned-allocation"), small.consumer("missing-allocation")
    facts = facts_of(small)
    held = with_holdings(facts, small.cloud, [orphan, missing])
    assert held.holdings.keys() == {orphan, missing}
    assert held.holdings[orphan].allocations.amounts == facts.consumers[orphan]
    assert held.holdings[missing] == Holding(None, None)
    assert held.providers is facts.providers


@pytest.mark.parametrize("cell", ["cell0", "cell1", "cell2"])
def test_a_silent_cell_is_named_and_the_others_are_read(small, cell):
    database(small, cell).unlink()
    facts = facts_of(small)
    [silent] = facts.coverage.missing
    assert (silent.source, silent.rows) == (cell, 0)
    assert "unable to open database file" in silent.reason
    names = {facts.cells[row.cell] for row in facts.instances}
    assert names == {"cell0", "cell1", "cell2"} - {cell}


@pytest.mark.parametrize("cell", ["cell1", "cell2"])
def test_a_cell_that_falls_silent_between_two_questions_is_named(small, cell):
    """Its contents were read; whether it knows the consumers that are left cannot be asked."""

    def cut(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("cells", total):
            database(small, cell).rename(database(small, "away"))

    facts = collect(small.cloud, cut)
    assert [answer.source for answer in facts.coverage.missing] == [cell]
    assert {facts.cells[row.cell] for row in facts.instances} == {"cell0", "cell1", "cell2"}


def test_a_cell_whose_tables_are_gone_is_silent(small):
    small.sql("nova_cell2", "DROP TABLE compute_nodes")
    [silent] = facts_of(small).coverage.missing
    assert silent.source == "cell2"
    assert "no such table: compute_nodes" in silent.reason


def test_without_the_api_database_nothing_is_said(small):
    (small.folder / "nova_api.sqlite").unlink()
    with pytest.raises(Unreachable) as silent:
        facts_of(small)
    assert silent.value.source == "Nova's API database"


def test_an_answer_says_when_how_and_how_much(small):
    before = datetime.now(UTC).replace(tzinfo=None)
    answers = facts_of(small).coverage.sources
    assert all(answer.answered_at >= before for answer in answers)
    assert [answer.read_via for answer in answers[1:]] == ["database"] * 4
    assert not any(answer.partial for answer in answers)


def test_what_cannot_be_understood_is_named_with_table_and_id_and_the_rest_is_read(small):
    rows = small.sql("nova_cell1", "SELECT id, uuid FROM instances WHERE deleted = 0")
    flavorless, dateless, limbo = rows[:3]
    small.sql(
        "nova_cell1",
        "UPDATE instance_extra SET flavor = '{', id = 4711 WHERE instance_uuid = ?",
        flavorless["uuid"],
    )
    small.sql("nova_cell1", "UPDATE instances SET updated_at = 0 WHERE id = ?", dateless["id"])
    small.sql("nova_cell1", "UPDATE instances SET deleted = NULL WHERE id = ?", limbo["id"])
    facts = facts_of(small)
    [answer] = [one for one in facts.coverage.sources if one.source == "cell1"]
    assert {(one.table, one.row, one.column) for one in answer.unread} == {
        ("instance_extra", "4711", "flavor"),
        ("instances", str(dateless["id"]), "updated_at"),
        ("instances", str(limbo["id"]), "deleted"),
    }
    assert answer.unread_rows == 3
    assert facts.alive[flavorless["uuid"]].flavor is None
    assert facts.alive[limbo["uuid"]].vm_state is None, "and so it is left alone"
    assert facts.coverage.complete, "nothing was lost"


def test_an_instance_in_another_form_of_its_uuid_makes_the_evidence_incomplete(small):
    """No release of Nova writes such a row, and no rule sees it."""
    consumer = small.consumer("wrong-provider")
    cell = f"nova_{small.planted['wrong-provider'].cell}"
    small.sql(cell, "PRAGMA foreign_keys = OFF")
    small.sql(cell, "UPDATE instances SET uuid = ? WHERE uuid = ?", consumer.upper(), consumer)
    facts = facts_of(small)
    assert not {consumer, consumer.upper()} & facts.alive.keys()
    [noted] = [one for answer in facts.coverage.sources for one in answer.unread]
    assert (noted.table, noted.lost) == ("instances", True)
    assert not facts.coverage.complete
    verdicts = [one for one in audit(facts, AuditOptions()).findings if consumer in one.consumers]
    assert not verdicts


def test_a_column_that_the_release_lacks_is_named(small):
    small.sql("nova_cell1", "ALTER TABLE migrations DROP COLUMN cross_cell_move")
    facts = facts_of(small)
    assert facts.coverage.complete
    assert [one.what for answer in facts.coverage.sources for one in answer.unsupported] == [
        "migrations.cross_cell_move"
    ]


def test_a_build_request_table_that_cannot_be_read_says_so(small):
    small.sql("nova_api", "DROP TABLE build_requests")
    with pytest.raises(Unreachable) as silent:
        facts_of(small)
    assert "build_requests" in silent.value.reason


def test_hypervisors_are_asked_where_they_are_named(small):
    class Silent:
        def domains(self, hosts):
            return iter([HostDomains(host, reason="no route") for host in hosts])

    facts = collect(replace(small.cloud, hypervisors=Silent()), lambda *_: None)
    [answer] = [row for row in facts.coverage.sources if row.source == "libvirt"]
    assert len(answer.unsupported) == 6
    assert facts.coverage.complete, "a host that is dead is silent by nature"


def test_the_instance_of_a_domain_is_looked_up_also_when_it_is_deleted_and_holds_nothing(small):
    uuid = small.consumer("orphaned-allocation")
    small.sql("placement", "DELETE FROM allocations WHERE consumer_id = ?", uuid)
    assert uuid not in facts_of(small).deleted

    class Ghostly:
        def domains(self, hosts):
            first, *others = hosts
            yield HostDomains(first, (Domain(uuid, first, "instance-1", "shut off", ours=True),))
            yield from (HostDomains(host) for host in others)

    facts = collect(replace(small.cloud, hypervisors=Ghostly()), lambda *_: None)
    assert uuid in facts.deleted
    findings = audit(facts, AuditOptions()).findings
    assert f"ghost-domain:{uuid}" in {row.id for row in findings}


def test_a_guest_that_runs_elsewhere_is_confirmed_where_it_was_seen(small):
    uuid = small.consumer("missing-allocation")
    [here] = [row.host for row in facts_of(small).instances if row.uuid == uuid]

    class Split:
        def domains(self, hosts):
            for host in hosts:
                guest = Domain(uuid, host, "instance-1", "running", ours=True)
                yield HostDomains(host, () if host == here else (guest,))

    cloud = replace(small.cloud, hypervisors=Split())
    seen = Observer(cloud, AuditOptions(), lambda *_: None).observe()
    assert f"domain-elsewhere:{uuid}" in {row.id for row in seen.audit.findings}
