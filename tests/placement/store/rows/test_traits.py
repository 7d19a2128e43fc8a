# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterator

import pytest

from tests.placement.client import Client
from tests.placement.store.numbered import provider
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.reads import of_provider
from trueup.placement.store.rows import class_and_trait_names, traits

AVX, SSE = "HW_CPU_X86_AVX", "HW_CPU_X86_SSE"


@pytest.fixture
def tx(client: Client) -> Iterator[Transaction]:
    """Two providers; the first has a trait of the operator's, older than the other traits."""
    client.put("/traits/CUSTOM_FAST")
    client.make_provider(1, traits=("CUSTOM_FAST",))
    client.make_provider(2)
    with client.application.database.transaction() as tx:
        yield tx


def names(tx: Transaction, number: int) -> list[str]:
    found = of_provider.traits_of(tx, provider(tx, number).uuid)
    assert found is not None
    return [word.name for word in found[1]]


def ids(tx: Transaction, *wanted: str) -> list[int]:
    known = class_and_trait_names.ids_named(tx, wanted).traits
    return [known[name] for name in wanted]


def test_traits_come_in_the_order_of_their_ids(tx: Transaction) -> None:
    standard = sorted(zip(ids(tx, AVX, SSE), (AVX, SSE), strict=True), reverse=True)
    for key, _ in standard:
        traits.insert_traits(tx, provider(tx, 1), [key])
    # The operator's trait came last into the vocabulary, and first to the provider.
    assert names(tx, 1) == [*(name for _, name in reversed(standard)), "CUSTOM_FAST"]


def test_traits_come_and_go_one_by_one(tx: Transaction) -> None:
    one, two = provider(tx, 1), provider(tx, 2)
    avx, sse, fast = ids(tx, AVX, SSE, "CUSTOM_FAST")
    traits.insert_traits(tx, one, [avx, sse])
    traits.insert_traits(tx, two, [avx, fast])
    traits.delete_traits(tx, one, [avx, fast])
    assert (names(tx, 1), set(names(tx, 2))) == ([SSE], {AVX, "CUSTOM_FAST"})


def test_the_traits_of_a_provider_and_those_that_are_named(tx: Transaction) -> None:
    one, two, (avx, sse, fast) = provider(tx, 1), provider(tx, 2), ids(tx, AVX, SSE, "CUSTOM_FAST")
    known = traits.known(tx, one, {"CUSTOM_FAST", AVX, SSE, "NOBODY", "custom_fast"})
    assert known.present == {fast}
    assert {name: row.id for name, row in known.named.items()} == {
        AVX: avx,
        SSE: sse,
        "CUSTOM_FAST": fast,
    }
    assert list(known.named) == sorted(known.named, key=lambda name: known.named[name].id)
    assert all(row.modified_at for row in known.named.values())
    assert traits.known(tx, one, set()) == (known.present, {})
    assert traits.known(tx, two, {"NOBODY"}) == (set(), {})


def test_an_empty_change_does_nothing(tx: Transaction) -> None:
    one = provider(tx, 1)
    traits.insert_traits(tx, one, [])
    traits.delete_traits(tx, one, [])
    assert names(tx, 1) == ["CUSTOM_FAST"]
    assert names(tx, 2) == []
