# SPDX-License-Identifier: Apache-2.0
import random
from collections.abc import Callable
from contextlib import suppress

import pytest
from sqlalchemy import Executable, ScalarSelect, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from tests.placement.client import UUID, Client, claim
from tests.placement.index.views import true_view
from trueup.placement.index.view import foreign_writes
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.differences import differences
from trueup.placement.index.view.foreign_writes import NEVER, compare
from trueup.placement.index.view.refresh import load, refresh
from trueup.placement.store import tables
from trueup.placement.store.engine import changes
from trueup.placement.store.engine.changes import Changed
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.reads import fingerprint


def _id_of(trait: str) -> ScalarSelect[int]:
    return select(tables.traits.c.id).where(tables.traits.c.name == trait).scalar_subquery()


MOVES = {
    "a claim that moved": update(tables.allocations).values(resource_provider_id=2),
    "a claim that is gone": delete(tables.allocations),
    "a generation": update(tables.providers).where(tables.providers.c.id == 2).values(generation=9),
    "another parent": update(tables.providers)
    .where(tables.providers.c.id == 2)
    .values(parent_provider_id=1, root_provider_id=1),
    "a member": insert(tables.provider_aggregates).values(resource_provider_id=2, aggregate_id=1),
    "a member that left": delete(tables.provider_aggregates),
    "a provider": insert(tables.providers).values(
        id=9, uuid=UUID(9), name="nine", generation=0, root_provider_id=9
    ),
    "a provider without weight": insert(tables.providers).values(
        id=fingerprint.WEIGHTS, uuid=UUID(8), name="eight", root_provider_id=fingerprint.WEIGHTS
    ),
    "its move, which only its generation shows": update(tables.providers)
    .where(tables.providers.c.id == fingerprint.WEIGHTS)
    .values(parent_provider_id=1, root_provider_id=1, generation=1),
    "a total by hand": update(tables.inventories)
    .where(tables.inventories.c.resource_provider_id == 1)
    .values(total=9),
    "a ratio by hand": update(tables.inventories).values(allocation_ratio=1.5),
    "a limit by hand": update(tables.inventories).values(max_unit=4),
    "a reservation by hand": update(tables.inventories).values(reserved=1),
    "a trait by hand": insert(tables.provider_traits).values(
        resource_provider_id=2, trait_id=_id_of("HW_CPU_X86_SSE")
    ),
    "another trait by hand": update(tables.provider_traits)
    .where(tables.provider_traits.c.trait_id == _id_of("HW_CPU_X86_AVX"))
    .values(trait_id=_id_of("HW_CPU_X86_SSE2")),
    "a trait": insert(tables.traits).values(id=9999, name="CUSTOM_RED"),
    "a class": insert(tables.resource_classes).values(id=10000, name="CUSTOM_ONE"),
}


@pytest.fixture
def cloud(serve: Callable[..., Client], ledger_url: str) -> Client:
    cloud = serve(ledger_url)
    cloud.make_provider(1, inventories={"VCPU": 8, "DISK_GB": 8}, aggregates=(50,))
    cloud.make_provider(2, inventories={"VCPU": 8}, traits=("HW_CPU_X86_AVX",))
    cloud.make_provider(3, 2, inventories={"VCPU": 8}, aggregates=(51,))
    cloud.claim(100, {1: {"VCPU": 2, "DISK_GB": 1}, 3: {"VCPU": 3}})
    return cloud


def test_the_sums_are_those_of_the_columns(cloud: Client) -> None:
    with cloud.application.database.reading(snapshot=True) as tx:
        assert fingerprint.fingerprint(tx) == foreign_writes.fingerprint_of(load(tx))


EVERY_SUM = (
    *fingerprint.PROVIDER_SUMS,
    *fingerprint.MEMBER_SUMS,
    *fingerprint.INVENTORY_SUMS,
    *fingerprint.TRAIT_SUMS,
)


@pytest.mark.parametrize("names", [False, True])
def test_only_what_differs_is_read_again(cloud: Client, names: bool) -> None:
    with cloud.application.database.reading(snapshot=True) as tx:
        view = load(tx)
        assert set(fingerprint.fingerprint(tx)) == {*EVERY_SUM}
        for name in EVERY_SUM:
            found = foreign_writes.changes_against(tx, view, [name], names=names)
            # Nothing did change, so no provider is named.
            assert found == Changed(names=names)


def test_each_foreign_write_is_found(cloud: Client) -> None:
    for what, statement in MOVES.items():
        view = true_view(cloud)
        with cloud.application.database.transaction() as tx:
            tx.execute(statement)
        loaded = true_view(cloud)
        assert differences(view, loaded), what
        with cloud.application.database.reading(snapshot=True) as tx:
            found, compared, _ = compare(tx, view, {}, NEVER)
            assert (differences(found, loaded), what) == ([], what)
            assert compare(tx, found, {}, compared).view is found


@pytest.mark.parametrize("ratio", [1.5, 1.1, 0.9, 1.3, 16.0, 0.001, 1e30])
def test_no_ratio_looks_like_a_foreign_write(cloud: Client, ratio: float) -> None:
    """Databases and Python round it differently: half a unit, or a number of 32 bits."""
    with cloud.application.database.transaction() as tx:
        tx.execute(update(tables.inventories).values(allocation_ratio=ratio, total=15))
    view = true_view(cloud)
    with cloud.application.database.reading(snapshot=True) as tx:
        assert nothing_differs(tx, view)


def nothing_differs(tx: Transaction, view: View) -> bool:
    found, compared, damaged = compare(tx, view, {}, NEVER)
    return found is view and not compared.residue and not damaged


def test_without_foreign_writes_the_view_stays(cloud: Client) -> None:
    view = true_view(cloud)
    with cloud.application.database.reading(snapshot=True) as tx:
        assert nothing_differs(tx, view)


HIDDEN = {
    "inventories": update(tables.inventories)
    .where(tables.inventories.c.resource_provider_id == 1)
    .values(total=64),
    "traits": insert(tables.provider_traits).values(
        resource_provider_id=1, trait_id=_id_of("HW_CPU_X86_SSE")
    ),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_a_claim_of_ours_does_not_hide_what_was_written_before_it(cloud: Client, what: str) -> None:
    """The claim hides the generation that would have shown the write."""
    view = true_view(cloud)
    database = cloud.application.database
    raised = update(tables.providers).where(tables.providers.c.id == 1).values(generation=7)
    with database.transaction() as tx:
        tx.execute(HIDDEN[what])
        tx.execute(raised)
    with database.reading() as tx:
        before = changes.vector(tx)
    cloud.claim(101, {1: {"VCPU": 1}})
    with database.reading(snapshot=True) as tx:
        view = refresh(tx, view, changes.news(tx, before).changed)
        found, compared, _ = compare(tx, view, {}, NEVER)
        assert differences(found, load(tx)) == []
        assert compared.residue == {}


def test_a_move_that_no_weight_shows_does_not_become_the_residue(cloud: Client) -> None:
    """The weights of both hosts are equal, and only the generation of one of them grew."""
    same_weight = fingerprint.WEIGHTS + 1
    database = cloud.application.database
    host = {"uuid": UUID(9), "name": "nine", "generation": 0, "root_provider_id": same_weight}
    stock = {"resource_class_id": 0, "total": 8, "reserved": 0, "min_unit": 1, "max_unit": 8}
    with database.transaction() as tx:
        tx.execute(insert(tables.providers).values(id=same_weight, **host))
        row = {**stock, "step_size": 1, "allocation_ratio": 1.0}
        tx.execute(insert(tables.inventories).values(resource_provider_id=same_weight, **row))
    view = true_view(cloud)
    with database.transaction() as tx:
        moved = update(tables.allocations).where(tables.allocations.c.resource_class_id == 0)
        tx.execute(moved.values(resource_provider_id=same_weight))
        grown = update(tables.providers).where(tables.providers.c.id == same_weight)
        tx.execute(grown.values(generation=1))
    with database.reading(snapshot=True) as tx:
        found, compared, _ = compare(tx, view, {}, NEVER)
        assert differences(found, load(tx)) == []
        assert compared.residue == {}


def _random_write(source: random.Random, number: int) -> Executable:
    """One that upstream's service or an operator could make, or one that finds nothing."""
    provider, class_id = source.choice((1, 2, 3, 9)), source.choice((0, 2))
    given, stock = tables.allocations, tables.inventories
    of_class = {"resource_provider_id": provider, "resource_class_id": class_id}
    claim = {**of_class, "consumer_id": UUID(number), "used": number % 7}
    limits = {"reserved": 0, "min_unit": 1, "max_unit": 9, "step_size": 1}
    room = {"total": source.randint(1, 99), "allocation_ratio": source.choice((0.1, 1.5, 16.0))}
    host = {"id": 9, "uuid": UUID(9), "name": "nine", "generation": 0, "root_provider_id": 9}
    trait = {"resource_provider_id": provider, "trait_id": source.randint(1, 4)}
    member = {"resource_provider_id": provider, "aggregate_id": source.choice((1, 2))}
    found = given.c.resource_provider_id == provider
    writes = (
        insert(given).values(**claim),
        delete(given).where(found),
        update(given).where(found).values(used=given.c.used + 1),
        update(given)
        .where(given.c.resource_class_id == class_id)
        .values(resource_provider_id=provider),
        insert(stock).values(**of_class, **limits, **room),
        update(stock).where(stock.c.resource_provider_id == provider).values(**room),
        delete(stock).where(stock.c.resource_provider_id == provider),
        insert(tables.provider_traits).values(**trait),
        delete(tables.provider_traits).where(tables.provider_traits.c.trait_id == number % 5),
        insert(tables.provider_aggregates).values(**member),
        delete(tables.provider_aggregates).where(
            tables.provider_aggregates.c.resource_provider_id == provider
        ),
        update(tables.providers)
        .where(tables.providers.c.id == provider)
        .values(generation=tables.providers.c.generation + 1),
        insert(tables.providers).values(**host),
        delete(tables.providers).where(tables.providers.c.id == 9),
    )
    return source.choice(writes)


@pytest.mark.parametrize("seed", range(3))
def test_after_any_writes_the_view_is_that_of_a_new_load(cloud: Client, seed: int) -> None:
    """Among them are claims through Trueup, and rows that a view leaves out."""
    source, database = random.Random(seed), cloud.application.database
    with database.reading(snapshot=True) as tx:
        view, vector = load(tx), changes.vector(tx)
    compared = NEVER
    for number in range(200, 260):
        for part in range(source.choice((0, 1, 2, 4))):
            write = _random_write(source, 10 * number + part)
            with suppress(IntegrityError), database.transaction() as tx:
                tx.execute(write)
        if source.random() < 0.3:
            resources = {source.choice((1, 2, 3)): {"VCPU": 1}}
            cloud.put(f"/allocations/{UUID(number)}", claim(resources))
        with database.reading(snapshot=True) as tx:
            news = changes.news(tx, vector)
            view, vector = refresh(tx, view, news.changed), news.vector
            view, compared, _ = compare(tx, view, vector, compared)
            assert differences(view, load(tx)) == []
            assert compare(tx, view, vector, compared) == (view, compared, frozenset())
