# SPDX-License-Identifier: Apache-2.0
"""Parts of a ledger that was read as a whole. Against the database's parts: test_database.py."""

from trueup.reconcile.facts import Owner, Provider
from trueup.reconcile.sources.placement.contract import Ledger
from trueup.reconcile.sources.placement.loaded import LoadedLedger


def provider(uuid: str, root: str, shares_with: tuple[str, ...] = ()) -> Provider:
    shared = frozenset(shares_with)
    return Provider(uuid, f"name of {uuid}", 1, root, {}, bool(shared), shares_with=shared)


ROWS = (
    provider("h1", "h1"),
    provider("nic", "h1"),
    provider("h2", "h2"),
    provider("pool", "pool", ("h1", "h2")),
)
HELD = {"web": {"h1": {"VCPU": 1}, "pool": {"DISK_GB": 4}}, "db": {"h2": {"VCPU": 2}}}
PROVIDERS = {row.uuid: row for row in ROWS}
OWNERS = {"web": Owner("red", "ruby"), "db": Owner("blue", "bob")}
LEDGER = LoadedLedger(Ledger(PROVIDERS, HELD, "export", owners=OWNERS))


def test_trees_are_found_by_uuid_and_by_name():
    assert LEDGER.trees(["nic"], []).keys() == {"h1", "nic"}
    assert LEDGER.trees(["gone"], ["name of h2"]).keys() == {"h2"}


def test_who_holds_and_what():
    assert LEDGER.holders(["pool", "h2"]) == {"web", "db"}
    assert LEDGER.held(["db", "nobody"]) == {"db": {"h2": {"VCPU": 2}}}
    assert LEDGER.read_via == "export"


def test_whose_it_is_is_known_where_it_was_read():
    assert LEDGER.owners(["db", "nobody"]) == {"db": Owner("blue", "bob")}
    assert LoadedLedger(Ledger(PROVIDERS, HELD, "API")).owners(["db"]) is None


def test_sharing_providers_come_with_the_trees_and_name_no_others():
    near = LEDGER.completed(LEDGER.trees(["h1"], []))
    assert near.keys() == {"h1", "nic", "pool"}
    assert near["pool"].shares_with == {"h1"}
