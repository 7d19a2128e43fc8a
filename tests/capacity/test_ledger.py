# SPDX-License-Identifier: Apache-2.0
"""The ledger of facts as a view: the same columns as those of Placement's own database."""

from dataclasses import replace

from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.capacity.asked import asked_of_amounts
from trueup.capacity.ledger import traits_of, view_of
from trueup.reconcile.facts import Inventory, LedgerFault

TEXT = """
cell1
  host h1 VCPU=8 up traits=CUSTOM_FAST aggregates=rack
  provider nic of h1 NET_BW=100
  provider disks DISK_GB=50 sharing aggregates=rack
holds web h1 VCPU=3
holds db h1 VCPU=1
"""
ASKED = asked_of_amounts({"VCPU": 1, "CUSTOM_GOLD": 1}, ["CUSTOM_SLOW"]).request


def test_providers_and_what_is_used_of_them():
    view = view_of(read_cloud(TEXT).facts(), [ASKED])
    host, nic = (view.forest.by_uuid[uuid_of(name)] for name in ("h1", "nic"))
    assert view.forest.roots[nic] == host
    assert view.inventories["VCPU"].used.tolist() == [4]
    assert view.providers_by_trait["CUSTOM_FAST"].tolist() == [host]
    assert {"CUSTOM_GOLD", "VCPU"} <= view.class_ids.keys()
    assert traits_of(ASKED) == {"CUSTOM_SLOW", "COMPUTE_STATUS_DISABLED"} <= view.trait_ids.keys()


def test_a_pool_shares_with_the_trees_that_were_read_and_with_no_others():
    facts = read_cloud(TEXT).facts()
    pool = facts.providers[uuid_of("disks")]
    for shares_with in (frozenset(), frozenset({uuid_of("h1"), "not-read"})):
        rows = {**facts.providers, pool.uuid: replace(pool, shares_with=shares_with)}
        # What aggregates over the API do not say, the pool itself says.
        rows = {uuid: replace(row, aggregates=None) for uuid, row in rows.items()}
        view = view_of(replace(facts, providers=rows), [ASKED])
        host, disks = (view.forest.by_uuid[uuid_of(name)] for name in ("h1", "disks"))
        shared = set(view.shared_with[disks].tolist())
        assert shared == ({host, disks} if shares_with else {disks})


def test_rows_that_a_hand_wrote_do_no_harm():
    facts = read_cloud(TEXT).facts()
    host = facts.providers[uuid_of("h1")]
    odd = replace(host, inventories={"VCPU": Inventory(8, 0, float("inf"), step_size=0)})
    fault = LedgerFault("consumerless", "no-provider", "odd", "NO_CLASS", 1)
    view = view_of(
        replace(facts, providers={**facts.providers, host.uuid: odd}, ledger_faults=(fault,)),
        [ASKED],
    )
    assert view.inventories["VCPU"].step_sizes.tolist() == [1]
