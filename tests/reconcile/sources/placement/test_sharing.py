# SPDX-License-Identifier: Apache-2.0
"""Which trees a sharing provider shares with."""

from trueup.reconcile.facts import Provider
from trueup.reconcile.sources.placement.sharing import members_of_sharing, with_sharing


def a_provider(uuid: str, root: str = "") -> Provider:
    return Provider(uuid, uuid, 1, root or uuid, {})


def test_a_pool_shares_with_the_trees_of_its_members():
    rows = [a_provider("h1"), a_provider("disk of h1", "h1"), a_provider("h2"), a_provider("pool")]
    known = with_sharing(rows, {"pool": ["pool", "disk of h1", "gone"], "gone too": ["h2"]})
    assert (known["pool"].sharing, known["pool"].shares_with) == (True, {"h1"})
    assert not known["h1"].sharing


def test_members_share_an_aggregate_with_the_pool():
    aggregates = {"pool": ["a", "b"], "h1": ["a"], "h2": ["c"], "h3": ["b", "c"]}
    assert members_of_sharing(["pool", "lonely"], aggregates) == {
        "pool": {"pool", "h1", "h3"},
        "lonely": set(),
    }
