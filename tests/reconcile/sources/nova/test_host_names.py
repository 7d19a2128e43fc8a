# SPDX-License-Identifier: Apache-2.0
"""Hosts in other letters, accents or spaces than those of their compute nodes."""

import pytest

from tests.reconcile.expected.asking import instance
from trueup.reconcile.facts import ComputeNode, ComputeService
from trueup.reconcile.sources.nova.host_names import HostNames, services_as_nodes


@pytest.mark.parametrize("written", ["H1", "h1 ", "h\u00e91"])
def test_a_host_is_found_by_what_mysql_treats_as_equal(written):
    known = HostNames([("he1" if "\u00e9" in written else "h1", "n1")])
    [row] = known.of_instances([instance(host=written, node="N1")])
    assert (row.host, row.node) in {("h1", "n1"), ("he1", "n1")}


def test_a_host_that_is_known_exactly_is_never_another():
    """A collation that tells accents apart has both."""
    known = HostNames([("h\u00e91", "n"), ("he1", "n")])
    rows = [instance(host=host, node="n") for host in ("he1", "h\u00e91")]
    assert [row.host for row in known.of_instances(rows)] == ["he1", "h\u00e91"]
    nodes = [ComputeNode(host, "c", host, "n") for host in ("he1", "h\u00e91")]
    services = [ComputeService("c", row.host, False, None) for row in nodes]
    assert services_as_nodes(services, nodes) == (*services,)


def test_a_service_is_spelled_as_its_node_and_first_as_one_that_lives():
    nodes = [ComputeNode("u1", "c", "H1", "n", deleted=True), ComputeNode("u2", "c", "h1", "n")]
    services = [ComputeService("c", host, False, None) for host in ("h1", "H1", "h2")]
    assert [row.host for row in services_as_nodes(services, nodes)] == ["h1", "h1", "h2"]
