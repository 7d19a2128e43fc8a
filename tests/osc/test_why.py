# SPDX-License-Identifier: Apache-2.0
"""`openstack trueup why` reads Placement's database, without a login."""

import json

from tests.osc.conftest import Client
from trueup.lab.cloud import SmallCloud
from trueup.lab.nova.databases import sqlite_url


def test_it_tells_what_each_filter_leaves_out(openstack: Client, cloud: SmallCloud) -> None:
    where = ("--database", sqlite_url(cloud.folder / "placement.sqlite"))
    ran = openstack("trueup", "why", "resources=VCPU:1", *where, "-f", "json")
    assert ran.code == 0, ran.err
    assert [row["Filter"] for row in json.loads(ran.out)] == ["all hosts", "resources=VCPU:1"]
    none = openstack("-q", "trueup", "why", "resources=VCPU:100000", *where)
    assert (none.code, none.err) == (3, "")


def test_a_query_is_needed(openstack: Client) -> None:
    ran = openstack("trueup", "why")
    assert (ran.code, ran.out) == (2, "")
    assert "name a query, or a log and a request id" in ran.err
