# SPDX-License-Identifier: Apache-2.0
"""For any cloud and selection, the facts of a selection are those of the whole cloud."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.clouds import HOSTS, SERVERS, drafts
from tests.scenarios.drafting import OWNER, Draft, uuid_of
from trueup.reconcile.audit import audit
from trueup.reconcile.collect import collect
from trueup.reconcile.collect.selection import Selection, SelectionUnknown, chosen, subjects
from trueup.reconcile.facts import Facts, Instance
from trueup.reconcile.rules.residence import Undetermined, residence
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.notes import NOTHING_NOTED, Noted
from trueup.reconcile.sources.nova.contract import (
    CellContents,
    InstanceFilter,
    InstanceIds,
    NovaCell,
    Registry,
)
from trueup.reconcile.sources.placement.contract import Ledger, LedgerLookup
from trueup.reconcile.sources.placement.loaded import LoadedLedger
from trueup.reconcile.verdicts import AuditOptions

PROVIDERS = (*HOSTS, "nic", "pool", "stray")


@dataclass
class DraftedNova:
    """A Nova with the content of a draft."""

    draft: Draft
    facts: Facts
    read_via: str = "database"
    registry_source: str = "Nova's API database"

    def cells(self) -> tuple[NovaCell, ...]:
        return tuple(NovaCell(uuid, name, "") for uuid, name in self.draft.cells.items())

    def registry(self, cells: Iterable[NovaCell], uuids: Iterable[str] | None = None) -> Registry:
        return Registry(
            build_requests=self.facts.build_requests,
            instance_mappings=self.facts.instance_mappings,
            host_mappings=self.facts.host_mappings,
        )

    def hosts(self, cell: NovaCell) -> CellContents:
        if cell.name in self.draft.silent:
            raise Unreachable(cell.name, self.draft.silent[cell.name])
        return CellContents(
            compute_nodes=tuple(row for row in self.draft.nodes if row.cell == cell.uuid),
            services=tuple(row for row in self.draft.services if row.cell == cell.uuid),
            heartbeat=self.draft.reported.get(cell.uuid),
        )

    def instance_ids(self, cell: NovaCell, wanted: InstanceFilter) -> InstanceIds:
        rows = [row for row in self._rows(cell) if _is_of(row, wanted.projects, row.project)]
        living = [row for row in rows if not row.deleted and _is_of(row, wanted.hosts, row.host)]
        deleted = [row for row in rows if row.deleted and wanted.deleted]
        return InstanceIds(
            frozenset(row.uuid for row in living), frozenset(row.uuid for row in deleted)
        )

    def instances(self, cell: NovaCell, uuids: Iterable[str]) -> CellContents:
        asked = frozenset(uuids)
        return CellContents(
            instances=tuple(row for row in self._rows(cell) if row.uuid in asked),
            migrations=tuple(
                row
                for row in self.draft.migrations
                if row.cell == cell.uuid and {row.uuid, row.instance} & asked
            ),
        )

    def lookup(
        self, cell: NovaCell, uuids: Iterable[str], moves_of: Iterable[str] = ()
    ) -> CellContents:
        rows, moves = self.instances(cell, uuids), self.instances(cell, moves_of)
        return CellContents(instances=rows.instances, migrations=moves.migrations)

    def _rows(self, cell: NovaCell) -> list[Instance]:
        return [row for row in self.draft.instances if row.cell == cell.uuid]


def _is_of(row: Instance, wanted: frozenset[str] | None, value: str | None) -> bool:
    return wanted is None or value in wanted


@dataclass
class DraftedPlacement:
    """A Placement with the content of a draft."""

    facts: Facts

    def lookup(self, *_: object) -> LedgerLookup:
        return LoadedLedger(Ledger(self.facts.providers, self.facts.consumers, "API"))

    def noted(self) -> Noted:
        return NOTHING_NOTED


def names(*those: str) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(those), max_size=2)


UUIDS = [uuid_of(name) for name in (*SERVERS, "stranger", "evacuation-of-web")]
SELECTIONS = st.builds(
    Selection,
    instances=st.one_of(st.just(frozenset()), names(*UUIDS)),
    consumers=st.one_of(st.just(frozenset()), names(*UUIDS)),
    hosts=st.one_of(st.just(frozenset()), names(*HOSTS, "stray")),
    providers=st.one_of(st.just(frozenset()), names(*PROVIDERS, *map(uuid_of, PROVIDERS))),
    cells=st.one_of(st.just(frozenset()), names("cell1", "cell2")),
    projects=st.one_of(st.just(frozenset()), names(OWNER["project"], "nobody's")),
).filter(lambda one: one.narrows)


@st.composite
def clouds(draw: st.DrawFn) -> Draft:
    """A draft of which one tree may be broken: a child has the root of another tree.

    Placement has no tree without its root.
    """
    draft = draw(drafts().filter(lambda draft: uuid_of("h1") in draft.providers))
    nic = draft.providers[uuid_of("nic")]
    root = draw(st.sampled_from(["h1", "h1", *HOSTS, "stray", "pool"]))
    if uuid_of(root) in draft.providers:
        draft.providers[nic.uuid] = replace(nic, root=uuid_of(root))
    return draft


def of_all(draft: Draft, selection: Selection, shares_with: frozenset[str]) -> Facts:
    """What a look at the whole cloud has; the pool shares with these hosts."""
    facts = draft.facts()
    pool = replace(facts.providers[uuid_of("pool")], shares_with=shares_with)
    known = facts.consumers.keys() | selection.uuids
    known |= {row.instance for row in facts.migrations if row.uuid in facts.consumers}
    return replace(
        facts,
        holdings={},
        providers={**facts.providers, pool.uuid: pool},
        # A deleted instance that holds nothing is only read where it is named.
        instances=tuple(row for row in facts.instances if not row.deleted or row.uuid in known),
    )


def comparable(facts: Facts) -> dict[str, object]:
    return {
        "instances": {row.uuid: row for row in facts.instances},
        "providers": facts.providers,
        "consumers": facts.consumers,
        "migrations": {row.uuid: row for row in facts.migrations},
        "nodes": set(facts.compute_nodes),
        "services": set(facts.services),
        "hosts": facts.hosts_in_scope,
        "judged": facts.providers_in_scope,
        "silent": {row.source for row in facts.coverage.missing},
    }


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(clouds(), SELECTIONS, names(*map(uuid_of, HOSTS)))
def test_a_selection_reads_the_same_facts_as_the_whole_cloud(draft, selection, shared):
    whole = of_all(draft, selection, shared)
    nova = DraftedNova(draft, whole)
    cloud = Cloud(nova=nova, placement=DraftedPlacement(whole))
    try:
        expected = chosen(whole, selection)
    except SelectionUnknown:
        return
    part = collect(cloud, lambda *_: None, selection)
    assert comparable(part) == comparable(expected)
    at = {"taken_at": whole.taken_at}
    reported, known = (audit(replace(facts, **at), AuditOptions()) for facts in (part, expected))
    assert reported.findings == known.findings
    assert reported.left_alone == known.left_alone


@settings(max_examples=500, deadline=None, derandomize=True)
@given(clouds(), SELECTIONS)
def test_of_what_is_selected_the_same_is_not_checked_as_in_the_whole_cloud(draft, selection):
    """Silence is never an all-clear."""
    whole = of_all(draft, selection, frozenset())
    try:
        part = chosen(whole, selection)
    except SelectionUnknown:
        return
    for uuid in subjects(whole, selection) & whole.alive.keys():
        expected = residence(whole.alive[uuid], whole.record(uuid), whole)
        assert residence(part.alive[uuid], part.record(uuid), part) == expected
        if isinstance(expected, Undetermined):
            told = audit(part, AuditOptions())
            assert told.unchecked or told.findings or not told.coverage.complete
