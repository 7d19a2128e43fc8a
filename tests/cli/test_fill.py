# SPDX-License-Identifier: Apache-2.0
"""A rebuilt ledger is filled, read and kept as the same ledger."""

from dataclasses import replace

from tests.reconcile.planning import facts_of
from tests.reconcile.runbooks.rebuilding import made
from tests.scenarios.names import uuid_of
from trueup.cli.fill import consumers_to_fill, copy_of, holds, ledger_in, providers_to_fill
from trueup.lab.nova.databases import sqlite_url
from trueup.placement.manage.fill import fill_database, make_schema

NESTED = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 DISK_GB=100
  server web on h1 VCPU=2 MEMORY_MB=256
provider nic of h1 CUSTOM_NET=100
holds web h1 VCPU=2 MEMORY_MB=256
"""


def test_what_was_filled_is_what_was_made(tmp_path):
    result = made(facts_of(NESTED))
    url = sqlite_url(tmp_path / "new.sqlite")
    make_schema(url)
    assert not holds(ledger_in(url), result)
    fill_database(url, providers_to_fill(result), consumers_to_fill(result))
    found = ledger_in(url)
    assert holds(found, result)
    later = {one: replace(row, generation=99) for one, row in found.providers.items()}
    assert holds(replace(found, providers=later), result), "generations grow"
    assert not holds(replace(found, consumers={}), result)


def test_a_file_keeps_parents_before_their_children():
    kept = copy_of(facts_of(NESTED))
    assert [one.name for one in kept.providers] == ["h1", "nic"]
    assert kept.providers[1].parent == kept.providers[0].uuid
    assert kept.consumers.keys() == {uuid_of("web")}
