# SPDX-License-Identifier: Apache-2.0
"""Runbooks are prepared from two observations."""

from datetime import timedelta

import pytest

from trueup.reconcile.collect.selection import SelectionUnknown
from trueup.reconcile.runbooks.observed import Pacing, retirement
from trueup.reconcile.runs import Observer
from trueup.reconcile.verdicts import AuditOptions

PACING = Pacing(timedelta(milliseconds=1), lambda _: None)


def prepared(small, host):
    observer = Observer(small.cloud, AuditOptions(), lambda *_: None)
    return retirement(host, observer, PACING)


def test_residue_is_confirmed_before_it_is_released(small):
    host = "compute-02"
    [check] = [one for one in prepared(small, host).checks if one.part == "consumer"]
    assert check.subject == small.consumer("evacuation-residue")
    assert check.outlook.value == "planned"


def test_nothing_is_prepared_for_a_host_of_which_nothing_is_left(small):
    host = "compute-02"
    for table in ("compute_nodes", "services"):
        small.sql("nova_cell1", f"UPDATE {table} SET deleted = id WHERE host = ?", host)
    assert prepared(small, host) is not None
    small.sql("nova_cell1", "UPDATE compute_nodes SET uuid = 'another' WHERE host = ?", host)
    assert prepared(small, host) is None


def test_a_host_that_nobody_has_ever_known_is_refused(small):
    with pytest.raises(SelectionUnknown):
        prepared(small, "nowhere")
