# SPDX-License-Identifier: Apache-2.0
"""audit beside Nova 34's own, on the same databases and the same Placement."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from tests.cli.nova_manage.twins import Twins, same
from tests.cli.running import trueup
from trueup.lab.blueprint import Instance
from trueup.lab.nova.databases import transaction

pytestmark = pytest.mark.xdist_group("nova-manage")

UNKNOWN = "11111111-2222-3333-4444-555555555555"


@dataclass(frozen=True)
class Orphaned:
    """An instance that was deleted an hour ago and still holds what it held, and its provider."""

    twins: Twins
    instance: Instance

    @property
    def provider(self) -> str:
        assert self.instance.host is not None
        return self.instance.host.uuid

    def arrange(self) -> None:
        self.twins.hold(self.instance, self.twins.right(self.instance))
        self.deleted(self.instance.number)

    def deleted(self, number: int) -> None:
        hour_ago = self.twins.cloud.blueprint.now - timedelta(hours=1)
        with transaction(self._url) as connection:
            connection.execute(
                text("UPDATE instances SET deleted = :mark, deleted_at = :at WHERE uuid = :of"),
                {
                    "mark": number,
                    "at": hour_ago.isoformat(" ") if number else None,
                    "of": self.instance.uuid,
                },
            )

    @property
    def _url(self) -> str:
        assert self.instance.cell is not None
        return self.twins.cloud.databases.cell_url(self.instance.cell.name)


@pytest.fixture
def orphaned(twins: Twins) -> Iterator[Orphaned]:
    """On a host where nobody else is whom Nova's command takes for orphaned."""
    blueprint = twins.cloud.blueprint
    strange = {one.host.uuid for one in (*blueprint.containers, *blueprint.boots)}
    for move in blueprint.open_moves:
        strange |= {move.source.uuid, move.target.uuid}
    found = Orphaned(
        twins, next(one for one in twins.actives() if one.host and one.host.uuid not in strange)
    )
    yield found
    found.deleted(0)


OPTIONS = {
    "--resource_provider": ([], 3, ""),
    "--verbose": (["--verbose"], 3, "can be deleted"),
    "--delete": (["--delete"], 4, ""),
    "--delete and --verbose": (["--delete", "--verbose"], 4, "Deleted allocations"),
}


@pytest.mark.parametrize(("words", "code", "reported"), OPTIONS.values(), ids=OPTIONS)
def test_each_option_as_nova(
    orphaned: Orphaned, words: list[str], code: int, reported: str, monkeypatch
) -> None:
    monkeypatch.setattr("trueup.cli.nova_manage.job.INTERVAL_SECONDS", 0.1)
    line = ["audit", *words, "--resource_provider", orphaned.provider]
    both = orphaned.twins.both(*line, arrange=orphaned.arrange)
    assert both.ours.code == both.nova.code == code
    same(both)
    assert reported in both.ours.out


def test_an_unknown_provider(twins: Twins) -> None:
    both = twins.both("audit", "--resource_provider", UNKNOWN)
    assert both.ours.out == both.nova.out
    assert both.ours.code == both.nova.code == 127


def test_nothing_is_orphaned(orphaned: Orphaned) -> None:
    both = orphaned.twins.both("audit", "--verbose", "--resource_provider", orphaned.provider)
    assert (both.ours.code, both.ours.out) == (both.nova.code, both.nova.out) == (0, "")


def test_moves_boots_and_containers_are_not_orphaned(twins: Twins) -> None:
    """Of a healthy cloud, Nova's command would delete all of these."""
    both = twins.both("audit", "--verbose")
    assert both.nova.code == 3
    assert (both.ours.code, both.ours.out) == (0, "")
    for uuid in set(re.findall(r"consumer UUID (\S+) but", both.nova.out)):
        assert f"Note: {uuid} keeps what it holds: " in both.ours.err


def test_a_cell_that_is_down_makes_no_orphans(twins: Twins) -> None:
    """Nova's command would delete the allocations of every instance of the cell."""
    url = twins.cloud.databases.api_url
    name = twins.actives()[0].cell.name
    with transaction(url) as connection:
        query = text("SELECT database_connection FROM cell_mappings WHERE name = :of")
        [there] = connection.execute(query, {"of": name}).scalars()

    def map_to(where: str) -> None:
        with transaction(url) as connection:
            connection.execute(
                text("UPDATE cell_mappings SET database_connection = :to WHERE name = :of"),
                {"to": where, "of": name},
            )

    map_to("sqlite:////")
    try:
        ran = twins.ours("audit", "--verbose", "--delete", "--interval", "0.1")
    finally:
        map_to(there)
    assert ran.code == 1
    assert "Deleted" not in ran.out
    assert f"{name} does not answer" in ran.err


def test_a_cell_that_stands_still_is_no_all_clear(twins: Twins) -> None:
    """As a replica that lags: nothing of the cell is judged."""
    name = twins.actives()[0].cell.name
    old = twins.cloud.blueprint.now - timedelta(minutes=30)
    columns = ("last_seen_up", "updated_at")
    with transaction(twins.cloud.databases.cell_url(name)) as connection:
        kept = connection.execute(text(f"SELECT id, {', '.join(columns)} FROM services")).all()
        late = ", ".join(f"{column} = :old" for column in columns)
        connection.execute(text(f"UPDATE services SET {late}"), {"old": old.isoformat(" ")})
    try:
        ran = twins.ours("audit", "--verbose")
    finally:
        with transaction(twins.cloud.databases.cell_url(name)) as connection:
            for number, *values in kept:
                back = ", ".join(f"{column} = :{column}" for column in columns)
                connection.execute(
                    text(f"UPDATE services SET {back} WHERE id = :id"),
                    {"id": number, **dict(zip(columns, values, strict=True))},
                )
    assert ran.code == 1
    assert f"{name}: no service of the cell has reported for" in ran.err
    assert "its database may be a lagging replica" in ran.err


UNJUDGED = {
    "instance": (
        "UPDATE instances SET host = NULL, node = NULL WHERE uuid = '{instance}'",
        "UPDATE instances SET host = '{host}', node = '{node}' WHERE uuid = '{instance}'",
        "{instance} keeps what it holds: its vm state is active, and Nova has it on no host",
    ),
    "host": (
        f"UPDATE compute_nodes SET uuid = '{UNKNOWN}' WHERE uuid = '{{uuid}}'",
        f"UPDATE compute_nodes SET uuid = '{{uuid}}' WHERE uuid = '{UNKNOWN}'",
        f"host {{host}}: its compute node has uuid {UNKNOWN}",
    ),
}


@pytest.mark.parametrize(("lost", "back", "told"), UNJUDGED.values(), ids=UNJUDGED)
def test_what_cannot_be_judged_is_no_all_clear(twins: Twins, lost, back, told) -> None:
    # On a slow machine the services would look silent before the command reads them.
    twins.keep_alive(-timedelta(hours=1))
    one = twins.actives()[0]
    assert one.host
    assert one.cell
    names = {"host": one.host.name, "node": one.host.node, "uuid": one.host.uuid}

    def run(statement: str) -> None:
        with transaction(twins.cloud.databases.cell_url(one.cell.name)) as connection:
            connection.execute(text(statement.format(instance=one.uuid, **names)))

    run(lost)
    try:
        ran = twins.ours("audit", "--verbose")
    finally:
        run(back)
    assert (ran.code, ran.out) == (1, "")
    assert f"Note: {told.format(instance=one.uuid, **names)}" in ran.err


def test_more_than_the_limit_is_not_released(orphaned: Orphaned) -> None:
    orphaned.twins.keep_alive()
    orphaned.arrange()
    ran = orphaned.twins.ours("audit", "--delete", "--limit", "0", "--interval", "0.1")
    assert ran.code == 1
    assert "--limit" in ran.out
    assert orphaned.instance.uuid in orphaned.twins.ledger()


def test_what_was_released_can_be_given_back(orphaned: Orphaned) -> None:
    twins = orphaned.twins
    twins.keep_alive()
    orphaned.arrange()
    ran = twins.ours("audit", "--delete", "--interval", "0.1")
    assert ran.code == 4
    run = ran.err.split("trueup undo ")[1].split()[0]
    assert trueup("undo", "--nova-conf", twins.cloud.nova_conf, run).code == 0
    assert orphaned.instance.uuid in twins.ledger()


def test_what_was_deleted_this_moment_is_judged(orphaned: Orphaned) -> None:
    """As by Nova's command. An audit of `trueup audit` leaves it to nova-compute for a while."""
    twins, one = orphaned.twins, orphaned.instance
    line = ["audit", "--verbose", "--interval", "0.1", "--resource_provider", orphaned.provider]
    twins.keep_alive()
    orphaned.arrange()
    ago = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=30)
    twins.change(one, deleted_at=ago.isoformat(" "))
    assert twins.ours(*line).code == 3
    left = twins.ours(*line, "--grace", "3600")
    assert left.code == 0
    assert f"{one.uuid} keeps what it holds: deleted" in left.err
