# SPDX-License-Identifier: Apache-2.0
"""sync_aggregates beside Nova 34's own, on the same databases and the same Placement."""

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from tests.cli.nova_manage.twins import Twins, same
from tests.cli.running import trueup
from trueup.lab.blueprint import Host
from trueup.lab.nova.databases import transaction

pytestmark = pytest.mark.xdist_group("nova-manage")


@pytest.fixture
def member(twins: Twins) -> Iterator[Host]:
    """A host that is in an aggregate; its provider is in its aggregates again afterwards."""
    host = twins.cloud.blueprint.aggregates[0].hosts[0]
    before = aggregates(twins, host)
    yield host
    put_into(twins, host, before)


def aggregates(twins: Twins, host: Host) -> list[str]:
    return sorted(
        twins.cloud.placement.get(f"/resource_providers/{host.uuid}/aggregates")["aggregates"]
    )


def put_into(twins: Twins, host: Host, uuids: list[str]) -> None:
    path = f"/resource_providers/{host.uuid}/aggregates"
    generation = twins.cloud.placement.get(path)["resource_provider_generation"]
    body = {"aggregates": uuids, "resource_provider_generation": generation}
    twins.cloud.placement.put(path, body)


@pytest.mark.parametrize("words", [[], ["--verbose"]])
def test_each_option_as_nova(twins: Twins, member: Host, words: list[str]) -> None:
    wanted = aggregates(twins, member)
    assert wanted
    both = twins.both("sync_aggregates", *words, arrange=lambda: put_into(twins, member, []))
    same(both)
    assert both.ours.code == both.nova.code == 0
    assert aggregates(twins, member) == wanted


def test_what_only_placement_has_stays(twins: Twins, member: Host) -> None:
    """PARITY: it only adds, also where the provider is in an aggregate of Nova's too many."""
    others = [one.uuid for one in twins.cloud.blueprint.aggregates]
    both = twins.both(
        "sync_aggregates", "--verbose", arrange=lambda: put_into(twins, member, sorted(others))
    )
    same(both)
    assert aggregates(twins, member) == sorted(others)


def test_a_host_without_a_mapping(twins: Twins, member: Host) -> None:
    url = twins.cloud.databases.api_url

    def name(old: str, new: str) -> None:
        with transaction(url) as connection:
            connection.execute(
                text("UPDATE host_mappings SET host = :new WHERE host = :old"),
                {"new": new, "old": old},
            )

    name(member.name, "elsewhere")
    try:
        both = twins.both("sync_aggregates", "--verbose")
    finally:
        name("elsewhere", member.name)
    same(both)
    assert both.ours.code == both.nova.code == 4


def test_what_was_added_can_be_taken_back(twins: Twins, member: Host) -> None:
    twins.keep_alive()
    put_into(twins, member, [])
    ran = twins.ours("sync_aggregates")
    assert (ran.code, ran.out) == (0, "")
    run = ran.err.split("trueup undo ")[1].split()[0]
    assert trueup("undo", "--nova-conf", twins.cloud.nova_conf, run).code == 0
    assert aggregates(twins, member) == []
