# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

from tests.placement.client import Client
from trueup.placement.store.reads.fingerprint import MARKS, Fingerprint, fingerprint
from trueup.placement.store.rows import class_and_trait_names


def take(client: Client) -> Fingerprint:
    with client.application.database.reading(snapshot=True) as tx:
        return fingerprint(tx)


def test_an_empty_ledger_has_empty_sums(client: Client) -> None:
    assert set(take(client).values()) == {0}


def test_sums_and_weights(serve: Callable[..., Client], ledger_url: str) -> None:
    client = serve(ledger_url)
    for number in (1, 2):
        client.make_provider(number, inventories={"VCPU": 8})
    client.make_provider(3, 2, traits=("HW_CPU_X86_AVX",), aggregates=(50,))
    client.claim(100, {1: {"VCPU": 1}, 2: {"VCPU": 5}})
    with client.application.database.reading() as tx:
        trait = class_and_trait_names.trait(tx, "HW_CPU_X86_AVX")
    assert trait is not None
    # The class with the id 0, a total of 8, a ratio of 1.0, and units from 1 to the largest
    # integer by 1.
    marks = 8 + 1000 * 49979687 + 1299709 + (2**31 - 1) * 15485863 + 32452843
    assert take(client) == {
        "providers": 3,
        "generations": 6,
        "weighted generations": 1 * 2 + 4 * 2 + 9 * 2,
        "roots": 1 * 1 + 4 * 2 + 9 * 2,
        "parents": 9 * 2,
        "members": 1,
        "weighted members": 9 * 1,
        "marks": 2 * (marks % MARKS),
        "weighted marks": (1 + 4) * (marks % MARKS),
        "traits": 1,
        "weighted traits": 3 * trait.id,
    }
