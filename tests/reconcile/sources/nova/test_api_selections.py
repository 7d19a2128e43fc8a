# SPDX-License-Identifier: Apache-2.0
"""A selection over Nova's API: what the whole cloud has of it, in answers of a real Nova."""

from types import SimpleNamespace

import pytest

from tests.clouds import answers
from tests.reconcile.sources.nova.test_api import FIRST, GONE, MOVE
from trueup.reconcile.collect import collect
from trueup.reconcile.collect.selection import Selection, chosen
from trueup.reconcile.facts import Provider
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.notes import NOTHING_NOTED
from trueup.reconcile.sources.nova.api import ANSWERING_CELLS, NovaApi
from trueup.reconcile.sources.nova.contract import CellContents
from trueup.reconcile.sources.placement.contract import Ledger
from trueup.reconcile.sources.placement.loaded import LoadedLedger


def with_filters(recorded: answers.Answers) -> answers.Answers:
    """The recorded cloud as Nova would also list it: by host, by project, server by server."""
    rows = recorded[f"{FIRST} 2.98"][1]["servers"]
    deleted = f"{FIRST}&deleted=True"
    gone = recorded[f"{deleted}&uuid={GONE}&limit=1000 2.98"][1]["servers"]
    answered: answers.Answers = {}
    for parameter, field in (("host", "OS-EXT-SRV-ATTR:host"), ("project_id", "tenant_id")):
        for value in {str(row[field]) for row in (*rows, *gone)}:
            chosen = f"&{parameter}={value}&limit=1000 2.98"
            living, dead = ([row for row in some if row[field] == value] for some in (rows, gone))
            answered[f"{FIRST}{chosen}"] = (200, {"servers": living})
            answered[f"{deleted}&status=SOFT_DELETED{chosen}"] = (200, {"servers": []})
            answered[f"{deleted}{chosen}"] = (200, {"servers": dead})
    none = (200, {"migrations": []})
    for row in (*rows, *gone):
        answered[f"GET /servers/{row['id']} 2.98"] = (200, {"server": row})
        answered[f"GET /os-migrations?instance_uuid={row['id']}&limit=1000 2.98"] = none
    return answered | recorded


def ledger_of(whole: CellContents) -> Ledger:
    """What they hold: living servers on their hosts, one that is gone, and a move's source."""
    roots = {row.host: row.uuid for row in whole.compute_nodes}
    providers = {uuid: Provider(uuid, host, 1, uuid, {}) for host, uuid in roots.items()}
    held = {row.uuid: {roots[row.host]: {"VCPU": 1}} for row in whole.instances if row.host}
    held |= {uuid: {roots["devstack1"]: {"VCPU": 1}} for uuid in (GONE, MOVE)}
    return Ledger(providers, held, "API")


@pytest.mark.parametrize("kind", ["hosts", "projects", "instances", "consumers", "providers"])
def test_a_selection_over_the_api_has_what_the_whole_cloud_has_of_it(kind):
    with answers.replayed(with_filters(answers.load("every-kind/api"))) as adapter:
        nova = NovaApi(adapter)
        ledger = ledger_of(nova.contents(ANSWERING_CELLS))
        placement = SimpleNamespace(
            ledger=lambda progress: ledger,
            lookup=lambda *_: LoadedLedger(ledger),
            with_aggregates=lambda whole, _: whole,
            noted=lambda: NOTHING_NOTED,
        )
        cloud = Cloud(nova=nova, placement=placement)
        whole = collect(cloud, lambda *_: None)
        names = {
            "hosts": {row.host for row in whole.compute_nodes},
            "projects": {row.project for row in whole.instances},
            "instances": set(whole.alive),
            "consumers": {GONE, MOVE},
            "providers": set(whole.providers),
        }[kind]
        for name in names:
            selection = Selection(**{kind: frozenset({name})})
            part, expected = collect(cloud, lambda *_: None, selection), chosen(whole, selection)
            for attribute in ("consumers", "providers", "alive", "deleted", "hosts_in_scope"):
                assert getattr(part, attribute) == getattr(expected, attribute), (name, attribute)
            assert set(part.migrations) == set(expected.migrations), name
            assert part.coverage.complete
