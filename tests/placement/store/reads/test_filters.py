# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests.placement.client import UUID, Client
from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.requests import ProviderFilters
from trueup.placement.store import tables
from trueup.placement.store.reads import filters

FAST, RED, UNUSED = "HW_CPU_X86_AVX", "HW_CPU_X86_SSE", "HW_CPU_X86_MMX"
RACK, ROW, EMPTY = UUID(50), UUID(51), UUID(59)


def any_of(*names: str) -> frozenset[str]:
    return frozenset(names)


def fill(client: Client) -> None:
    in_pairs = {"total": 8, "min_unit": 2, "max_unit": 6, "step_size": 2}
    halves = {"total": 4, "reserved": 1, "allocation_ratio": 1.5}
    client.make_provider(1, inventories={"VCPU": 8}, traits=(FAST,), aggregates=(50,))
    client.make_provider(2, 1, traits=(FAST, RED))
    client.make_provider(
        3, inventories={"VCPU": halves, "DISK_GB": 8}, traits=(RED,), aggregates=(50, 51)
    )
    client.make_provider(4, 2)
    client.make_provider(5, inventories={"VCPU": in_pairs}, aggregates=(51,))
    client.claim(100, {3: {"VCPU": 1}})


@pytest.fixture
def ledger(serve: Callable[..., Client], ledger_url: str) -> Client:
    client = serve(ledger_url)
    fill(client)
    return client


def listed(client: Client, **wanted: Any) -> filters.Listing:
    with client.application.database.reading() as tx:
        return filters.list_providers(tx, ProviderFilters(**wanted))


def find(client: Client, **wanted: Any) -> list[int]:
    """The numbers of the providers that are listed."""
    found = listed(client, **wanted).providers
    return [int(name.removeprefix("provider ")) for name in found.names]


ALONE: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [1, 2, 3, 4, 5]),
    ({"name": "provider 2"}, [2]),
    ({"name": "provider"}, []),
    ({"uuid": UUID(3)}, [3]),
    ({"uuid": UUID(99)}, []),
    # Upstream takes an empty name or UUID for none.
    ({"name": "", "uuid": ""}, [1, 2, 3, 4, 5]),
    ({"in_tree": UUID(4)}, [1, 2, 4]),
    ({"in_tree": UUID(5)}, [5]),
    ({"in_tree": UUID(99)}, []),
    ({"required": (any_of(FAST),)}, [1, 2]),
    ({"required": (any_of(FAST), any_of(RED))}, [2]),
    ({"required": (any_of(FAST, RED),)}, [1, 2, 3]),
    ({"required": (any_of(UNUSED),)}, []),
    ({"required": (any_of(UNUSED, RED),)}, [2, 3]),
    ({"forbidden": any_of(FAST)}, [3, 4, 5]),
    ({"forbidden": any_of(FAST, RED)}, [4, 5]),
    ({"member_of": (any_of(RACK),)}, [1, 3]),
    ({"member_of": (any_of(RACK, ROW),)}, [1, 3, 5]),
    ({"member_of": (any_of(RACK), any_of(ROW))}, [3]),
    ({"member_of": (any_of(EMPTY),)}, []),
    ({"member_of": (any_of(),)}, []),
    ({"forbidden_aggregates": any_of(RACK)}, [2, 4, 5]),
    ({"forbidden_aggregates": any_of(RACK, ROW)}, [2, 4]),
    ({"forbidden_aggregates": any_of(EMPTY)}, [1, 2, 3, 4, 5]),
]

ROOM = [
    ((("VCPU", 1),), [1, 3]),
    ((("VCPU", 2),), [1, 3, 5]),
    # The third has 3 x 1.5, and 1 of it is taken.
    ((("VCPU", 3),), [1, 3]),
    ((("VCPU", 4),), [1, 5]),
    ((("VCPU", 6),), [1, 5]),
    ((("VCPU", 8),), [1]),
    ((("VCPU", 9),), []),
    ((("VCPU", 2), ("DISK_GB", 8)), [3]),
    ((("VCPU", 2), ("DISK_GB", 9)), []),
]

TOGETHER: list[tuple[dict[str, Any], list[int]]] = [
    ({"in_tree": UUID(2), "required": (any_of(FAST),)}, [1, 2]),
    ({"in_tree": UUID(2), "required": (any_of(FAST),), "forbidden": any_of(RED)}, [1]),
    ({"in_tree": UUID(2), "uuid": UUID(3)}, []),
    ({"resources": (("VCPU", 2),), "member_of": (any_of(ROW),)}, [3, 5]),
    (
        {
            "resources": (("VCPU", 2),),
            "member_of": (any_of(ROW),),
            "forbidden_aggregates": any_of(RACK),
        },
        [5],
    ),
    ({"required": (any_of(FAST),), "forbidden": any_of(FAST)}, []),
    ({"member_of": (any_of(RACK),), "forbidden_aggregates": any_of(RACK)}, []),
    ({"name": "provider 1", "member_of": (any_of(RACK),), "required": (any_of(FAST, RED),)}, [1]),
]


def test_filters_alone_and_together(ledger: Client) -> None:
    for wanted, expected in [*ALONE, *TOGETHER]:
        assert find(ledger, **wanted) == expected, wanted
    for resources, expected in ROOM:
        assert find(ledger, resources=resources) == expected, resources


def test_names_that_do_not_exist_are_refused(client: Client) -> None:
    client.make_provider(1, inventories={"VCPU": 8})
    for wanted in ({"required": (any_of(FAST, "NOBODY"),)}, {"forbidden": any_of("NOBODY")}):
        with pytest.raises(TraitNotFound, match="NOBODY"):
            find(client, **wanted)
    with pytest.raises(ResourceClassNotFound, match="NOBODY"):
        find(client, resources=(("VCPU", 1), ("NOBODY", 1)))


def test_released_allocations_are_free_again(client: Client) -> None:
    client.make_provider(1, inventories={"VCPU": 8})
    client.claim(100, {1: {"VCPU": 8}})
    assert find(client, resources=(("VCPU", 1),)) == []
    client.delete(f"/allocations/{UUID(100)}")
    assert find(client, resources=(("VCPU", 8),)) == [1]


def test_a_provider_list_has_all_fields(ledger: Client) -> None:
    whole = listed(ledger).providers
    assert whole.uuids == [UUID(1), UUID(2), UUID(3), UUID(4), UUID(5)]
    assert whole.root_uuids[:2] == [UUID(1), UUID(1)]
    assert whole.parent_uuids[:2] == [None, UUID(1)]
    # Roots and parents are named even if they are not in the list.
    child = listed(ledger, uuid=UUID(2)).providers
    assert child.generations == whole.generations[1:2]
    assert (child.root_uuids, child.parent_uuids) == ([UUID(1)], [UUID(1)])
    awkward = "a name\nof two lines"
    ledger.put(f"/resource_providers/{UUID(4)}", {"name": awkward})
    renamed = listed(ledger, name=awkward).providers
    assert (renamed.uuids, renamed.names) == ([UUID(4)], [awkward])


def test_the_time_of_a_list_is_that_of_the_latest_change(ledger: Client) -> None:
    with ledger.application.database.transaction() as tx:
        for number, day in ((1, 5), (2, 7), (3, 6)):
            change = tables.providers.update().where(tables.providers.c.uuid == UUID(number))
            tx.execute(change.values(updated_at=datetime(2001, 2, day)))
    assert listed(ledger, in_tree=UUID(1)).modified_at is not None
    assert listed(ledger, uuid=UUID(3)).modified_at == datetime(2001, 2, 6)
    assert listed(ledger, member_of=(any_of(RACK),)).modified_at == datetime(2001, 2, 6)
    assert listed(ledger, uuid=UUID(99)).modified_at is None


@pytest.mark.parametrize("amount", [2**31 - 1, 2**31, 2**63 - 1])
def test_no_provider_has_an_absurd_amount(ledger: Client, amount: int) -> None:
    for path in ("/resource_providers", "/allocation_candidates"):
        found = ledger.get(f"{path}?resources=VCPU:{amount}")
        assert (found.status, any(found.json.values())) == (200, False)


def test_any_number_of_conditions_is_answered_at_once(ledger):
    """MariaDB joined a table for each, and tried the orders of thirty for minutes."""
    near = tuple(any_of(RACK, UUID(1000 + number)) for number in range(100))
    assert find(ledger, member_of=near) == [1, 3]
    assert find(ledger, member_of=(*near, any_of(ROW))) == [3]
    assert find(ledger, member_of=near, forbidden_aggregates=any_of(ROW)) == [1]
    assert find(ledger, member_of=near, forbidden=any_of(RED)) == [1]
    assert find(ledger, required=(any_of(FAST),) * 3000) == [1, 2]
    assert find(ledger, resources=(("VCPU", 1),) * 30, member_of=near) == [1, 3]
