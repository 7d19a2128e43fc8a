# SPDX-License-Identifier: Apache-2.0
"""`openstack trueup rebuild`: the client's Nova, and Placement's old and new database."""

import json
from pathlib import Path

from tests.osc.conftest import Client, lost
from trueup.lab.cloud import SmallCloud
from trueup.lab.nova.databases import sqlite_url


def databases(cloud: SmallCloud, new: Path) -> tuple[str, ...]:
    old = sqlite_url(cloud.folder / "placement.sqlite")
    return ("--placement-database", old, "--into", sqlite_url(new))


def test_a_new_ledger_is_made_from_the_clients_cloud(openstack: Client, cloud, tmp_path) -> None:
    where = ("--os-cloud", "mine", "--nova-database", cloud.databases.api_url)
    new = tmp_path / "new.sqlite"
    ran = openstack("trueup", "rebuild", *where, *databases(cloud, new), "-f", "json")
    assert ran.code == 3, ran.err
    assert lost(cloud) in [row["Subject"] for row in json.loads(ran.out)]
    assert not new.exists(), "nothing is written"
    made = openstack("trueup", "rebuild", *where, *databases(cloud, new), "--apply", "--yes")
    assert made.code == 0, made.err
    assert new.exists()


def test_without_novas_databases_there_is_none(openstack: Client, cloud, tmp_path) -> None:
    words = databases(cloud, tmp_path / "new.sqlite")
    ran = openstack("trueup", "rebuild", "--os-cloud", "mine", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "--nova-database: a rebuild needs it" in ran.err
