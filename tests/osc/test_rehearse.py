# SPDX-License-Identifier: Apache-2.0
"""`openstack trueup rehearse`: a plan is applied to a copy of the client's own ledger."""

from tests.osc.conftest import Client
from trueup.lab.cloud import SmallCloud


def test_a_rehearsal(openstack: Client, cloud: SmallCloud, tmp_path) -> None:
    where = ("--os-cloud", "mine", "--nova-database", cloud.databases.api_url)
    path = tmp_path / "plan.json"
    openstack("trueup", "plan", *where, "--interval", "0.1", "--out", path)
    ran = openstack("trueup", "rehearse", *where, path)
    assert ran.code == 0, ran.err
