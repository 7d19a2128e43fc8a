# SPDX-License-Identifier: Apache-2.0
from tests.reconcile.page.paging import page_about, seen
from tests.reconcile.planning import BROKEN
from tests.reconcile.report.showing import said
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.page import cards
from trueup.reconcile.page.cards import FindingCard


def cards_of(text: str, *acknowledgements) -> dict[str, FindingCard]:
    groups = page_about(text, *acknowledgements).groups
    return {card.id: card for group in groups for card in group.cards}


def test_a_card_has_evidence_effect_and_what_its_remedy_would_change():
    card = cards_of(BROKEN)[f"wrong-provider:{uuid_of('db')}"]
    assert (card.name, card.kind, card.severity) == ("db", "instance", "high")
    assert card.evidence["holds"] == "VCPU=1 MEMORY_MB=128 on h2"
    assert "capacity of h1: VCPU=1 MEMORY_MB=128 too few" in card.effects
    [step] = card.steps
    assert [(one.label, one.before, one.after) for one in step.parts] == [
        ("h1", "", "VCPU=1 MEMORY_MB=128"),
        ("h2", "VCPU=1 MEMORY_MB=128", ""),
    ]
    assert any(" is on host h1, active, without a task" in guard for guard in step.guards)


def test_findings_are_grouped_by_defect_and_the_worst_is_first():
    groups = page_about(BROKEN).groups
    assert [group.count for group in groups] == [1, 1, 1]
    assert all(group.title and group.remedy for group in groups)


def test_without_a_step_the_reason_is_told():
    fault = "ledger-fault tree h1 its root is not known\n"
    [card] = cards_of(f"cell1\n  host h1 VCPU=8\n{fault}").values()
    assert card.steps == ()
    assert "trueup-manage db fsck --repair" in card.declined


def test_a_muted_finding_has_a_card_that_says_why():
    muted = said("finding", f"orphaned-allocation:{uuid_of('old')}")
    card = cards_of(BROKEN, muted)[muted.name]
    assert card.muted == f"muted until {muted.until.isoformat()}: ticket 4711"


def test_of_very_many_findings_the_worst_have_cards_and_all_are_named(monkeypatch):
    monkeypatch.setattr(cards, "CARDS_MAX", 2)
    groups = page_about(BROKEN).groups
    assert sum(len(group.cards) for group in groups) == 2
    named = {card.id for group in groups for card in group.cards}
    named |= {one for group in groups for one in group.more}
    assert named == {row.id for row in seen(BROKEN).audit.findings}
    assert groups[-1].more == (f"orphaned-allocation:{uuid_of('old')}",)
