# SPDX-License-Identifier: Apache-2.0
"""sync_aggregates beside Nova 34's own, on the same databases and the same Placement."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.cli.nova_manage.twins import Twins
from tests.cli.running import trueup
from trueup.lab.blueprint import Host
from trueup.lab.nova.databases import transaction

pytestmark = pytest.mark.xdist_group("nova-manage")

TRANSCRIPT = (Path(__file__).parent / "transcripts" / "sync_aggregates.txt").read_text()


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
    assert both.ours.out == both.nova.out
    assert both.ours.code == both.nova.code == 0
    assert aggregates(twins, member) == wanted


def test_what_only_placement_has_stays(twins: Twins, member: Host) -> None:
    """PARITY: it only adds, also where the provider is in an aggregate of Nova's too many."""
    others = [one.uuid for one in twins.cloud.blueprint.aggregates]
    both = twins.both(
        "sync_aggregates", "--verbose", arrange=lambda: put_into(twins, member, sorted(others))
    )
    assert both.ours.out == both.nova.out
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
    assert both.ours.out == both.nova.out
    assert both.ours.code == both.nova.code == 4


def test_what_was_added_can_be_taken_back(twins: Twins, member: Host) -> None:
    twins.keep_alive()
    put_into(twins, member, [])
    ran = twins.ours("sync_aggregates")
    assert (ran.code, ran.out) == (0, "")
    run = ran.err.split("trueup undo ")[1].split()[0]
    assert trueup("undo", "--nova-conf", twins.cloud.nova_conf, run).code == 0
    assert aggregates(twins, member) == []


def test_the_lines_are_those_of_a_real_nova(twins: Twins, member: Host) -> None:
    shapes = {_shape(line) for line in TRANSCRIPT.splitlines()}
    twins.keep_alive()
    put_into(twins, member, [])
    ran = twins.ours("sync_aggregates", "--verbose")
    assert {_shape(line) for line in ran.out.splitlines()} <= shapes


def _shape(line: str) -> str:
    line = re.sub(r"[0-9a-f-]{36}", "UUID", line)
    return re.sub(r"(aggregate: |host: |host \()[^)]*", r"\1", line)
