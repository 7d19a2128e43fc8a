# SPDX-License-Identifier: Apache-2.0
"""`trueup defects` says what is looked for, without any cloud, and shows the page of each."""

import pytest

from tests.cli.running import ROOT, trueup
from trueup.cli.commands.defects import page
from trueup.reconcile.defects import DEFECTS


def test_every_defect_is_listed():
    ran = trueup("defects", "-f", "json")
    assert ran.code == 0
    assert [row["Defect"] for row in ran.json()] == [defect.NAME for defect in DEFECTS]


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.NAME)
def test_the_page_of_a_defect_is_the_one_of_the_documentation(defect):
    assert page(defect.NAME) == (ROOT / "docs" / "defects" / f"{defect.NAME}.md").read_text()


def test_a_page_is_shown_as_text():
    ran = trueup("defects", "orphaned-allocation", "--max-width", 70)
    assert ran.code == 0
    assert "orphaned-allocation" in ran.out
    assert "How it is recognized" in ran.out
    assert "## " not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 70


def test_programs_get_the_row_of_one():
    [row] = trueup("defects", "wrong-provider", "-f", "json").json()
    assert row["Defect"] == "wrong-provider"


def test_who_sorts_gets_the_row_of_one():
    ran = trueup("defects", "wrong-provider", "--sort-column", "Defect")
    assert "| wrong-provider |" in ran.out


def test_a_defect_that_is_none_is_refused():
    with pytest.raises(SystemExit, match="2"):
        trueup("defects", "no-such-thing")
