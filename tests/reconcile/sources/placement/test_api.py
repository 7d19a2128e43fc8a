# SPDX-License-Identifier: Apache-2.0
"""Parts of a ledger over the API, request by request. All ways: collect/test_selected.py."""

from contextlib import closing

import pytest

from tests.placement.client import UUID, Client
from tests.reconcile.sources.placement.test_contract import HOST, NESTED, OTHER, POOL, fill, service
from trueup.reconcile.facts import Owner
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.placement.api import LedgerApi


@pytest.fixture
def asked(tmp_path):
    """Parts of a small ledger, and the paths that were asked for."""
    paths: list[str] = []
    with closing(service(f"sqlite:///{tmp_path / 'placement.sqlite'}")) as application:
        client = Client(application)
        fill(client)

        def found(path):
            paths.append(path)
            reply = client.get(path)
            return None if reply.status == 404 else reply.json

        yield LedgerApi(found), paths


def test_a_tree_is_asked_for_by_any_of_its_members(asked):
    parts, paths = asked
    assert parts.trees([NESTED], []).keys() == {HOST, NESTED}
    assert paths == [f"/resource_providers?in_tree={NESTED}"]


def test_a_name_that_a_tree_has_is_not_asked_for(asked):
    parts, paths = asked
    [name] = {row.name for row in parts.trees([OTHER], []).values()}
    paths.clear()
    assert parts.trees([OTHER], [name]).keys() == {OTHER}
    assert len(paths) == 1
    assert parts.trees([], [name]).keys() == {OTHER}
    assert parts.trees([], ["no one's & more"]) == {}


def test_a_name_is_not_looked_for_among_the_uuids(asked):
    """An operator may name a provider by either, and a list of all takes time."""
    parts, paths = asked
    [name] = {row.name for row in parts.trees([OTHER], []).values()}
    assert parts.trees([name], [name]).keys() == {OTHER}
    assert "/resource_providers" not in paths


def test_all_providers_are_listed_once_to_find_children(asked):
    """Also a child with another root, which a search for the tree of its parent does not find."""
    parts, paths = asked
    assert parts.children([]) == frozenset()
    assert paths == []
    assert parts.children([HOST, OTHER]) == {NESTED}
    assert parts.children([NESTED]) == frozenset()
    assert paths == ["/resource_providers"]


def test_who_holds_and_what(asked):
    parts, paths = asked
    assert parts.holders([HOST, OTHER, UUID(77)]) == {UUID(11), UUID(12), UUID(13)}
    assert parts.held([UUID(12), UUID(99)]) == {UUID(12): {OTHER: {"VCPU": 3}}}
    assert len(paths) == 5


def test_the_owner_comes_with_what_is_held(asked):
    parts, paths = asked
    parts.held([UUID(12)])
    assert parts.owners([UUID(12)]) == {UUID(12): Owner("a-project", "a-user")}
    assert len(paths) == 1, "who is asked for what it holds is not asked again"
    assert parts.owners([UUID(13), UUID(99)]) == {UUID(13): Owner("a-project", "a-user")}
    assert len(paths) == 3


def test_pools_come_with_the_trees_that_they_share_with(asked):
    parts, paths = asked
    assert parts.completed(parts.trees([OTHER], [])).keys() == {OTHER}
    paths.clear()
    near = parts.completed(parts.trees([HOST], []))
    assert near.keys() == {HOST, NESTED, POOL}
    assert not any("member_of" in path or "allocations" in path for path in paths)


def test_a_provider_that_goes_while_it_is_read_is_left_out():
    row = {"uuid": HOST, "name": "h", "generation": 1, "root_provider_uuid": HOST}
    row |= {"parent_provider_uuid": None}
    answers = {
        f"/resource_providers?in_tree={HOST}": {"resource_providers": [row]},
        "/resource_providers?required=MISC_SHARES_VIA_AGGREGATE": {"resource_providers": []},
    }
    parts = LedgerApi(answers.get)
    trees = parts.trees([HOST], [])
    assert (trees.keys(), parts.completed(trees)) == ({HOST}, {})
    assert parts.holders([HOST]) == frozenset()
    assert parts.held([UUID(11)]) == {}


def test_what_answers_there_may_not_be_placement():
    with pytest.raises(Unreachable):
        LedgerApi(lambda path: {}).trees([HOST], [])
