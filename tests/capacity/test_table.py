# SPDX-License-Identifier: Apache-2.0
"""The tables of capacity: what is not known for sure is told as at most."""

from dataclasses import replace

from tests.capacity.test_relocation import CLOUD
from tests.scenarios.reading import read_cloud
from trueup.capacity.asked import Gap, asked_of_amounts
from trueup.capacity.counting import By, Later, capacity
from trueup.capacity.relocation import drained, survived
from trueup.capacity.table import (
    FAILURES_COLUMNS,
    MOVES_COLUMNS,
    capacity_table,
    columns,
    failures_table,
    moves_table,
)

TWO_CPUS = asked_of_amounts({"VCPU": 2})


def test_a_row_for_each_kind_of_server_in_each_group():
    facts = read_cloud(CLOUD).facts()
    later = Later(planned=facts)
    found = capacity([TWO_CPUS], facts, By.HOST, later)
    titles, rows = capacity_table(found, planned=True)
    assert titles == columns(By.HOST, planned=True)
    assert [row[:6] for row in rows] == [
        ("VCPU=2", "h1", 0, 0, 0, 0),
        ("VCPU=2", "h2", 2, 1, 2, 2),
        ("VCPU=2", "h3", 1, 1, 1, 1),
        ("VCPU=2", "other", 45, 1, 45, 45),
    ]
    assert [len(titles)] * 4 == [len(row) for row in rows]


def test_without_groups_and_a_plan_there_are_fewer_columns():
    unsure = replace(TWO_CPUS, gaps=frozenset({Gap.PCI_ALIAS}))
    found = capacity([unsure], read_cloud(CLOUD).facts(), By.CLOUD, Later())
    titles, [row] = capacity_table(found, planned=False)
    assert titles == columns(By.CLOUD, planned=False)
    assert row == ("VCPU=2", "at most 48", 3, 45, "at most 48", "VCPU: 4 hosts")


def test_moves_and_failures():
    facts = read_cloud(CLOUD).facts()
    titles, rows = moves_table(drained(facts, "h1"))
    assert titles == MOVES_COLUMNS
    assert [(row[0], row[3], row[4]) for row in rows] == [
        ("db", "h2", ""), ("web", "h3", ""), ("big", "", "VCPU: 2 hosts"),
    ]  # fmt: skip
    titles, rows = failures_table(survived(facts, 1))
    assert titles == FAILURES_COLUMNS
    assert rows == [("", "h1", 3, 1, "big: VCPU: 2 hosts")]
