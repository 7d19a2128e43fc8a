# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from tests.placement.index.clouds import Host, view_of
from trueup.placement.index.filters import (
    ForbiddenTraits,
    InTree,
    Isolate,
    MemberOf,
    NotMemberOf,
    RequiredTrait,
    RootForbidden,
    RootRequired,
    SameSubtree,
)
from trueup.placement.why.lacking import NearMiss, lacking, nearest

HOSTS = [
    Host("host", {"VCPU": 4}, aggregates=("rack",)),
    Host("nic", {"SRIOV_NET_VF": 1}, "host", traits=("RED",)),
]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (RequiredTrait("", frozenset({"RED", "FAST"})), "has FAST or RED, but not together"),
        (RequiredTrait("", frozenset({"FAST"})), "no FAST"),
        (ForbiddenTraits("", frozenset({"RED", "FAST"})), "has RED"),
        (MemberOf("", frozenset({"rack"})), "is a member, but not together"),
        (MemberOf("", frozenset({"nobody"})), "in none of the aggregates"),
        (NotMemberOf("", frozenset({"rack"})), "in a forbidden aggregate"),
        (InTree("", "other"), "another tree"),
        (RootRequired("RED"), "its root has no RED"),
        (RootForbidden(frozenset({"RED"})), "its root has"),
        (Isolate(), "too few providers"),
        (SameSubtree(frozenset({"_NIC"})), "no subtree has room"),
    ],
)
def test_the_whole_tree_is_looked_at(asked, says):
    view = view_of(HOSTS)
    root = view.forest.by_uuid["host"]
    assert lacking(asked, root, view).startswith(says)
    assert nearest(asked, np.array([root]), view, 3) == (
        NearMiss("host", lacking(asked, root, view)),
    )
