# SPDX-License-Identifier: Apache-2.0
"""A selection narrows what is read and said; of what is left the same is said as of the whole."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.clouds import HOSTS, SERVERS, drafts
from tests.reconcile.planning import facts_of
from tests.reconcile.small import Small
from tests.reconcile.test_collect import quiet
from tests.scenarios.drafting import OWNER, uuid_of
from trueup.reconcile.audit import Audit, audit
from trueup.reconcile.collect import collect
from trueup.reconcile.collect.scope import with_partners
from trueup.reconcile.collect.selection import (
    EVERYTHING,
    Selection,
    SelectionUnknown,
    chosen,
    subjects,
)
from trueup.reconcile.facts import Facts
from trueup.reconcile.verdicts import CONSUMERS, AuditOptions

TEXT = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  host h2 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server web on h1 VCPU=2 MEMORY_MB=256
  server old on h1 deleted=3600
cell2
  host h3 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server db on h3 VCPU=1 MEMORY_MB=128
provider nic of h1 NET_BW=100
provider pool DISK_GB=100 sharing
holds web h1 VCPU=2 MEMORY_MB=256
holds old h2 VCPU=2 MEMORY_MB=256
holds db h3 VCPU=1 MEMORY_MB=128
holds stranger nic NET_BW=10
"""


def only(**names: str) -> Selection:
    return Selection(**{kind: frozenset(text.split()) for kind, text in names.items()})


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (EVERYTHING, "web old db stranger"),
        (only(instances=uuid_of("web")), "web"),
        (only(consumers=uuid_of("stranger")), "stranger"),
        (only(instances=uuid_of("web"), consumers=uuid_of("db")), "web db"),
        (only(hosts="h1"), "web stranger"),
        (only(hosts="h1 h3"), "web stranger db"),
        (only(hosts="h2"), "old"),
        (only(providers="h1"), "web stranger"),
        (only(providers=uuid_of("h2")), "old"),
        (only(providers="nic"), "stranger"),
        (only(providers="pool"), ""),
        (only(cells="cell1"), "web old stranger"),
        (only(cells=uuid_of("cell2")), "db"),
        (only(projects=OWNER["project"]), "web old db"),
        (only(projects="nobody's"), ""),
        (only(hosts="h1", cells="cell2"), ""),
        (only(hosts="h1", projects=OWNER["project"]), "web"),
    ],
)
def test_within_a_kind_any_and_of_several_kinds_all_must_hold(selection, expected):
    facts = facts_of(TEXT)
    assert subjects(facts, selection) == {uuid_of(name) for name in expected.split()}
    kept = chosen(facts, selection)
    assert kept.consumers.keys() <= subjects(facts, selection)
    assert {row.uuid for row in kept.instances} <= subjects(facts, selection)


@pytest.mark.parametrize(
    ("kind", "selection"),
    [
        ("instance", only(instances="nobody")),
        ("consumer", only(consumers="nobody")),
        ("host", only(hosts="h9")),
        ("provider", only(providers="h9")),
        ("cell", only(cells="cell9")),
    ],
)
def test_what_nothing_knows_is_refused_lest_nothing_looks_clean(kind, selection):
    with pytest.raises(SelectionUnknown) as refused:
        chosen(facts_of(TEXT), selection)
    assert refused.value.kind == kind


def test_a_silent_cell_may_know_what_nothing_else_knows():
    facts = facts_of(TEXT.replace("cell2", "cell2 silent"))
    assert chosen(facts, only(instances="nobody")).instances == ()


def test_hosts_that_are_not_selected_are_not_spoken_of():
    facts = facts_of(TEXT + "cell3\n  host h4 without-provider\n  server app on h4\n")
    assert len(audit(facts, AuditOptions()).unchecked) == 1
    assert audit(chosen(facts, only(hosts="h1")), AuditOptions()).unchecked == ()
    [reported] = audit(chosen(facts, only(instances=uuid_of("app"))), AuditOptions()).unchecked
    assert str(reported.subject) == "host h4", "why the instance cannot be judged is reported"


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("selection", [only(hosts="h1"), only(providers="h1"), only(cells="cell1")])
def test_a_clash_of_identities_is_told_by_whatever_of_it_is_selected(selection, own):
    second = "provider h1-new VCPU=8" if own else ""
    facts = facts_of(
        "cell1\n  host h1 uuid=h1-new without-provider\n  host h2 VCPU=8\n"
        f"provider h1 VCPU=8\n{second}\n"
    )
    [whole] = audit(facts, AuditOptions()).findings
    assert audit(chosen(facts, selection), AuditOptions()).findings == (whole,)
    assert audit(chosen(facts, only(hosts="h2")), AuditOptions()).findings == ()


def test_of_a_cell_all_hosts_are_spoken_of_unless_something_in_it_is_selected():
    facts = facts_of(TEXT)
    assert chosen(facts, only(cells="cell1")).hosts_in_scope == {"h1", "h2"}
    assert chosen(facts, only(cells="cell1", providers="pool")).hosts_in_scope == frozenset()


PLACES = st.sets(st.sampled_from(list(HOSTS)), max_size=2)
SELECTIONS = st.builds(
    Selection,
    instances=st.sets(st.sampled_from([uuid_of(name) for name in SERVERS]), max_size=2),
    hosts=PLACES,
    cells=st.sets(st.sampled_from(["cell1", "cell2"]), max_size=1),
).map(lambda one: replace(one, instances=frozenset(one.instances), hosts=frozenset(one.hosts),
                          cells=frozenset(one.cells)))  # fmt: skip


def of(result: Audit, kept: frozenset[str]) -> set[tuple[str, str, str]]:
    """What is said of these subjects."""
    rows = [("finding", row.subject.uuid, str(row.evidence)) for row in result.findings]
    rows += [("unchecked", str(row.subject), row.reason) for row in result.unchecked]
    rows += [("left alone", str(row.subject), row.reason) for row in result.left_alone]
    return {row for row in rows if row[1].split()[-1] in kept}


def known(facts: Facts, selection: Selection) -> bool:
    try:
        chosen(facts, selection)
    except SelectionUnknown:
        return False
    return True


@given(drafts(), SELECTIONS)
def test_a_selection_never_changes_a_verdict(draft, selection):
    facts = draft.facts()
    if not known(facts, selection):
        return
    kept = subjects(facts, selection)
    part = chosen(facts, selection)
    narrow, whole = audit(part, AuditOptions()), audit(facts, AuditOptions())
    assert of(narrow, kept) == of(whole, kept)
    reported = {row.subject.uuid for row in narrow.findings if row.subject.kind in CONSUMERS}
    # An instance is kept with its migrations, and its findings with theirs.
    assert reported <= with_partners(facts, kept)
    every = {row.id: row for row in whole.findings}
    assert [row for row in narrow.findings if every.get(row.id) != row] == []
    hosts = {row.host for row in part.compute_nodes if part.judges(row.uuid)}
    assert of_places(narrow) == {
        one for one in of_places(whole) if part.judges(one) or one in hosts
    }


def of_places(reported: Audit) -> set[str]:
    """The providers and hosts that findings are about."""
    return {row.subject.uuid for row in reported.findings if row.subject.kind not in CONSUMERS}


def selections_of(facts: Facts) -> list[Selection]:
    """Each kind of selector, by whatever there is of it."""
    alive = sorted(facts.alive)
    projects = sorted({row.project for row in facts.alive.values()})
    return [
        *(only(consumers=uuid) for uuid in sorted(facts.consumers)[:6]),
        *(only(instances=uuid) for uuid in alive[:4]),
        *(only(hosts=row.host) for row in facts.compute_nodes[:4]),
        *(only(providers=uuid) for uuid in sorted(facts.providers)[:3]),
        *(only(cells=name) for name in facts.cells.values()),
        *(only(projects=project) for project in projects[:3]),
        only(hosts=facts.compute_nodes[0].host, projects=projects[0]),
    ]


def test_reading_less_of_a_cloud_says_the_same_of_what_is_selected(small: Small):
    whole = collect(small.cloud, quiet)
    for selection in selections_of(whole):
        # Read at one moment: reasons name ages in seconds.
        part = replace(collect(small.cloud, quiet, selection), taken_at=whole.taken_at)
        expected = chosen(whole, selection)
        assert part.consumers == expected.consumers, selection
        assert {row.uuid: row.host for row in part.instances} == {
            row.uuid: row.host for row in expected.instances
        }, selection
        kept = subjects(whole, selection)
        options = AuditOptions()
        assert of(audit(part, options), kept) == of(audit(expected, options), kept), selection


def test_invariant_6_a_cell_that_is_not_selected_is_asked_all_the_same(small: Small):
    """The orphan's instance is alive in another cell: it moved, and that must be known."""
    orphan = small.planted["orphaned-allocation"]
    selection = only(cells=orphan.cell, consumers=orphan.consumer_uuid)
    found = audit(collect(small.cloud, quiet, selection), AuditOptions()).findings
    assert [row.subject.uuid for row in found] == [orphan.consumer_uuid]
    other = "cell1" if orphan.cell == "cell2" else "cell2"
    taken = small.sql(f"nova_{other}", "SELECT uuid FROM instances WHERE deleted = 0 LIMIT 1")
    small.sql(f"nova_{other}", "PRAGMA foreign_keys = OFF")
    small.sql(
        f"nova_{other}",
        "UPDATE instances SET uuid = ? WHERE uuid = ?",
        orphan.consumer_uuid,
        taken[0]["uuid"],
    )
    found = audit(collect(small.cloud, quiet, selection), AuditOptions()).findings
    assert {row.defect for row in found} <= {"stale-instance-mapping"}


def test_an_instance_with_rows_in_two_cells_is_selected_by_the_place_of_each():
    """A stale row is of the cell that nobody maps the instance to: there, too, it is found."""
    facts = facts_of(TEXT)
    [web] = [row for row in facts.instances if row.uuid == uuid_of("web")]
    cell2 = next(uuid for uuid, name in facts.cells.items() if name == "cell2")
    stale = replace(web, cell=cell2, host="h3", node="h3", project="another")
    for rows in ((web, stale), (stale, web)):
        twice = replace(facts, instances=(*facts.instances[1:], *rows))
        for where in ({"cells": "cell1"}, {"cells": "cell2"}, {"hosts": "h1"}, {"hosts": "h3"}):
            assert web.uuid in subjects(twice, only(**where))
        assert web.uuid in subjects(twice, only(projects="another"))


def test_invariant_6_a_silent_cell_that_is_not_selected_leaves_it_open(small: Small):
    orphan = small.planted["orphaned-allocation"]
    other = "cell1" if orphan.cell == "cell2" else "cell2"
    (small.folder / f"nova_{other}.sqlite").unlink()
    result = audit(collect(small.cloud, quiet, only(cells=orphan.cell)), AuditOptions())
    assert result.incomplete
    assert "orphaned-allocation" not in {row.defect for row in result.findings}


def test_a_selection_reads_only_what_it_needs(small: Small):
    whole = collect(small.cloud, quiet)
    host = whole.compute_nodes[0].host
    part = collect(small.cloud, quiet, only(hosts=host))
    rows = {answer.source: answer.rows for answer in whole.coverage.sources}
    for answer in part.coverage.sources:
        assert answer.rows <= rows[answer.source]
    assert sum(answer.rows for answer in part.coverage.sources) < sum(rows.values())


def test_usage_that_may_be_its_own_is_read_where_an_instance_holds_nothing(small: Small):
    """Its consumer has no row: Placement lists nothing of it, and counts its rows as usage."""
    whole = collect(small.cloud, quiet)
    uuid = next(one for one in sorted(whole.alive) if whole.consumers.get(one))
    one = Selection(instances=frozenset([uuid]))
    assert not collect(small.cloud, quiet, one).ledger_faults
    small.sql("placement", "DELETE FROM consumers WHERE uuid = ?", uuid)
    faults = collect(small.cloud, quiet, one).ledger_faults
    assert {row.subject for row in faults} == whole.consumers[uuid].keys()


@pytest.mark.parametrize("where", [{"hosts": "h1"}, {"providers": "h1"}, {"cells": "cell1"}])
def test_rows_of_a_class_that_is_missing_are_found_where_their_consumers_are(where):
    """They belong to no provider, and an audit of all finds them: a selection may not be silent."""
    facts = facts_of(
        "cell1\n  host h1 VCPU=8 MEMORY_MB=99\n  server web on h1 VCPU=2 MEMORY_MB=64\n"
        "  holds web h1 VCPU=2 MEMORY_MB=64\n"
        "cell2\n  host h2 VCPU=8\n"
        "ledger-fault dangling allocations-9 holder=web rows of a class that does not exist\n"
    )
    found = audit(chosen(facts, only(**where)), AuditOptions()).findings
    assert [row.defect for row in found] == ["dangling-rows"]
    for elsewhere in ({"hosts": "h2"}, {"cells": "cell2"}, {"instances": uuid_of("web")}):
        assert not audit(chosen(facts, only(**elsewhere)), AuditOptions()).findings


@pytest.mark.parametrize("fields", [{"host": "H1 "}, {"host": None, "node": "h1"}])
def test_an_instance_that_may_be_on_a_host_belongs_to_it(fields):
    facts = facts_of("cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\n  server web on h1\n")
    [web] = facts.instances
    odd = replace(facts, instances=(replace(web, **fields),))
    assert subjects(odd, Selection(hosts=frozenset(["h1"]))) == {uuid_of("web")}
    assert subjects(odd, Selection(hosts=frozenset(["h2"]))) == frozenset()
