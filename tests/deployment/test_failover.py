# SPDX-License-Identifier: Apache-2.0
"""HAProxy before Galera, configured as the page says: a writer dies or freezes under load."""

from contextlib import closing

import pytest
from sqlalchemy.engine import make_url

from tests.deployment.claiming import answers_through, check_nothing_is_lost
from tests.races.test_races import ON_ONE_CLUSTER
from tests.servers.databases import as_text
from tests.servers.galera import GaleraCluster
from tests.servers.haproxy import haproxy_before
from trueup.placement.app import make_app
from trueup.placement.store import schema

pytestmark = ON_ONE_CLUSTER

NOAUTH = {"api": {"auth_strategy": "noauth2"}}


@pytest.mark.parametrize("fate", ["dies", "freezes"])
def test_a_writer_that_is_gone_costs_503_and_no_acknowledged_claim(
    galera_cluster: GaleraCluster, fate: str
) -> None:
    galera_cluster.settle()
    writer, *others = galera_cluster.nodes
    nodes = [writer, *others]
    with others[0].server.empty_database() as database_url:
        name = make_url(database_url).database
        schema.create(database_url)
        with (
            haproxy_before([node.url for node in nodes]) as proxy,
            closing(make_app(as_text(proxy.set(database=name)), NOAUTH)) as application,
        ):
            try:
                answers = answers_through(
                    application, writer.kill if fate == "dies" else writer.freeze
                )
                check_nothing_is_lost(answers, application)
            finally:
                writer.thaw()
        writer.kill()
        galera_cluster.restart(writer)
        galera_cluster.settle()
