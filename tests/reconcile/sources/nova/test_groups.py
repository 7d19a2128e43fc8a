# SPDX-License-Identifier: Apache-2.0
"""Server groups as Nova's API database has them."""

import pytest

from trueup.reconcile.facts import ServerGroup
from trueup.reconcile.sources.errors import Unreachable

NEW, OLD, EMPTY = ("g1", '{"max_server_per_host": 2}'), ("g2", None), ("g3", None)


@pytest.fixture
def groups(small):
    for number, (uuid, rules) in enumerate((NEW, OLD, EMPTY), 1):
        small.sql("nova_api", "INSERT INTO instance_groups (id, uuid) VALUES (?, ?)", number, uuid)
        if uuid == EMPTY[0]:
            continue
        policy = (
            "INSERT INTO instance_group_policy (policy, group_id, rules)"
            " VALUES ('anti-affinity', ?, ?)"
        )
        small.sql("nova_api", policy, number, rules)
        for member in ("web", f"of-{uuid}"):
            row = "INSERT INTO instance_group_member (instance_uuid, group_id) VALUES (?, ?)"
            small.sql("nova_api", row, member, number)
    return small.cloud.nova.server_groups


def test_each_group_has_its_policy_its_rules_and_its_members(groups):
    assert groups() == (
        ServerGroup("g1", "anti-affinity", frozenset({"web", "of-g1"}), 2),
        ServerGroup("g2", "anti-affinity", frozenset({"web", "of-g2"})),
        ServerGroup("g3", "", frozenset()),
    )


@pytest.mark.parametrize("rules", ["{", "[]", '{"max_server_per_host": "many"}'])
def test_rules_that_cannot_be_read_make_the_groups_unread(groups, small, rules):
    small.sql("nova_api", "UPDATE instance_group_policy SET rules = ? WHERE group_id = 1", rules)
    with pytest.raises(Unreachable) as refused:
        groups()
    assert "the rules of server group g1" in str(refused.value)
