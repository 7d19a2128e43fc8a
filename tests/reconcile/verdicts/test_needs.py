# SPDX-License-Identifier: Apache-2.0
"""What a defect lacks: the first need that the facts do not have, or a whole cloud."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from trueup.reconcile.facts import LIBVIRT, NEUTRON, Coverage, Owner, SourceStatus, Unsupported
from trueup.reconcile.verdicts import Need, Scope, lacking

EVERYTHING = replace(
    facts_of("cell1"),
    coverage=Coverage(tuple(SourceStatus(name, True) for name in ("Nova", NEUTRON, LIBVIRT))),
)


def without(*whats: str):
    gaps = tuple(Unsupported(what, "it has none") for what in whats)
    nova = SourceStatus("Nova", True, unsupported=gaps)
    return replace(EVERYTHING, coverage=Coverage((nova,)))


def test_nothing_is_lacking_where_everything_was_read():
    assert lacking(tuple(Need), Scope.SELECTION, EVERYTHING) == ""
    assert lacking(tuple(Need), Scope.WHOLE_CLOUD, EVERYTHING) == ""


@pytest.mark.parametrize("need", [one for one in Need if one is not Need.COMPLETE])
def test_what_no_source_gives_is_lacking(need):
    assert lacking((Need.COMPLETE, need), Scope.SELECTION, without(need.value)) == need


def test_owners_that_were_read_one_by_one_are_given():
    read = replace(without(Need.OWNERS.value), owners={"web": Owner("a-project", "a-user")})
    assert lacking((Need.OWNERS,), Scope.SELECTION, read) == ""


def test_a_silent_source_makes_nothing_lacking_because_findings_become_unchecked():
    silent = replace(EVERYTHING, coverage=Coverage((SourceStatus("cell2", False),)))
    assert lacking((Need.COMPLETE,), Scope.SELECTION, silent) == ""


def test_a_selection_is_no_whole_cloud():
    part = replace(EVERYTHING, providers_in_scope=frozenset({"h1"}))
    assert lacking((), Scope.SELECTION, part) == ""
    assert lacking((), Scope.WHOLE_CLOUD, part) == "a whole cloud"
