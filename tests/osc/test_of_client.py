# SPDX-License-Identifier: Apache-2.0
"""The client names the cloud: options that name another one are refused."""

import pytest

from tests.osc.conftest import Client
from trueup.lab.cloud import SmallCloud


@pytest.mark.parametrize("command", ["audit", "plan"])
def test_a_nova_conf_beside_the_clients_cloud_is_refused(openstack: Client, command: str) -> None:
    ran = openstack("--os-cloud", "mine", "trueup", command, "--nova-conf", "nova.conf")
    assert (ran.code, ran.out) == (2, "")
    assert "--nova-conf: it would be ignored" in ran.err


def test_quiet_is_the_clients(openstack: Client, cloud: SmallCloud) -> None:
    where = ("--nova-database", cloud.databases.api_url)
    ran = openstack("-q", "--os-cloud", "mine", "trueup", "audit", *where)
    assert (ran.code, ran.err) == (3, "")


def test_help_does_not_offer_another_cloud(openstack: Client) -> None:
    ran = openstack("help", "trueup", "audit")
    assert "--nova-database" in ran.out
    assert "--nova-conf" not in ran.out.partition("options:")[2]


def test_a_command_without_a_cloud_needs_no_login(openstack: Client) -> None:
    ran = openstack("trueup", "defects", "-f", "value", "-c", "Defect")
    assert ran.code == 0
    assert "missing-allocation" in ran.out.splitlines()
