# SPDX-License-Identifier: Apache-2.0
"""Server groups keep their members together or apart, while these are moved."""

from dataclasses import replace

import pytest

from tests.capacity.test_fragments import CLOUD as TIGHT
from tests.capacity.test_fragments import FOUR
from tests.capacity.test_fragments import said as gained
from tests.capacity.test_relocation import facts_of, said
from tests.scenarios.names import uuid_of
from trueup.capacity.counting import Bind
from trueup.capacity.grouping import Groups
from trueup.capacity.relocation import drained, relieved, survived
from trueup.reconcile.facts import Facts, ServerGroup

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=100 up
  host h2 VCPU=20 MEMORY_MB=200 up
  host h3 VCPU=8 MEMORY_MB=90 up
  server web on h1 VCPU=1 MEMORY_MB=9
  server db on h1 VCPU=1 MEMORY_MB=8
  server far on h2 VCPU=1 MEMORY_MB=7
holds web h1 VCPU=1 MEMORY_MB=9
holds db h1 VCPU=1 MEMORY_MB=8
holds far h2 VCPU=1 MEMORY_MB=7
"""


def grouped(policy: str, *members: str, most: int = 1, text: str = CLOUD) -> Facts:
    group = ServerGroup("g", policy, frozenset(map(uuid_of, members)), most)
    return replace(facts_of(text), server_groups=(group,))


@pytest.mark.parametrize(
    ("policy", "members", "most", "moves"),
    [
        # h2 has one of them; the second that leaves h1 finds one on h3 as well.
        ("anti-affinity", ("web", "db", "far"), 1, [("web", "h3"), ("db", None)]),
        ("anti-affinity", ("web", "db", "far"), 2, [("web", "h2"), ("db", "h3")]),
        ("anti-affinity", ("db", "gone"), 1, [("web", "h2"), ("db", "h2")]),
        ("affinity", ("web", "db"), 1, [("web", None), ("db", None)]),
        ("affinity", ("web",), 1, [("web", None), ("db", "h2")]),
        ("affinity", ("web", "far"), 1, [("web", "h2"), ("db", "h2")]),
        ("soft-anti-affinity", ("web", "db", "far"), 1, [("web", "h2"), ("db", "h2")]),
        ("soft-affinity", ("web", "db"), 1, [("web", "h2"), ("db", "h2")]),
    ],
)
def test_a_server_goes_only_where_its_group_lets_it(policy, members, most, moves):
    found = drained(grouped(policy, *members, most=most), "h1")
    assert said(found) == moves
    for move in found:
        assert move.to or move.binds == {(Bind.SERVER_GROUP, policy): 2}


def test_what_a_group_leaves_may_be_full():
    text = CLOUD.replace("host h3 VCPU=8", "host h3 VCPU=0")
    [web, _] = drained(grouped("anti-affinity", "web", "far", text=text), "h1")
    assert web.binds == {(Bind.SERVER_GROUP, "anti-affinity"): 1, (Bind.CLASS, "VCPU"): 1}


def test_each_failure_begins_with_all_where_they_are():
    failures = survived(grouped("anti-affinity", "web", "db", "far"), 1)
    assert [said(failure.moves) for failure in failures] == [
        [("web", "h3"), ("db", None)],
        [("far", "h3")],
        [],
    ]


def test_over_full_hosts_are_relieved_within_the_groups():
    text = CLOUD.replace("host h1 VCPU=8", "host h1 VCPU=1")
    facts = grouped("affinity", "web", "far", text=text)
    assert said(relieved(facts)) == [("web", "h2")]
    assert said(relieved(grouped("affinity", "web", text=text))) == [("web", None), ("db", "h2")]


def test_moves_that_make_room_obey_the_groups():
    free = [("two", "h3", 3), ("three", "h3", 4)]
    assert gained(grouped("soft-anti-affinity", "two", "three", text=TIGHT), FOUR) == free
    assert gained(grouped("affinity", "two", "three", text=TIGHT), FOUR) == []
    apart = [("two", "h3", 3), ("three", "h1", 4)]
    assert gained(grouped("anti-affinity", "two", "three", text=TIGHT), FOUR) == apart


def test_moves_are_taken_back():
    facts = grouped("anti-affinity", "web", "far")
    groups, [web] = Groups(facts), [row for row in facts.instances if row.name == "web"]
    [far] = [row for row in facts.instances if row.name == "far"]
    groups.move(far, "h3")
    assert list(map(groups.allowed(web), ("h2", "h3"))) == [True, False]
    groups.take_back()
    assert list(map(groups.allowed(web), ("h2", "h3"))) == [False, True]
