# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable

from tests.placement.client import Client
from trueup.placement.store import schema
from trueup.placement.store.reads.fingerprint import MARKS, Fingerprint, fingerprint
from trueup.placement.store.rows import class_and_trait_names


def take(client: Client) -> Fingerprint:
    with client.application.database.reading(snapshot=True) as tx:
        return fingerprint(tx)


def test_an_empty_ledger_has_an_empty_one(client: Client) -> None:
    assert take(client) == {}


def test_sums_and_weights(serve: Callable[..., Client], database_url: str) -> None:
    schema.create(database_url)
    client = serve(database_url)
    for number in (1, 2):
        client.make_provider(number, inventories={"VCPU": 8})
    client.make_provider(3, 2, traits=("HW_CPU_X86_AVX",), aggregates=(50,))
    client.claim(100, {1: {"VCPU": 1}, 2: {"VCPU": 5}})
    with client.application.database.reading() as tx:
        trait = class_and_trait_names.trait(tx, "HW_CPU_X86_AVX")
    assert trait is not None
    # A total of 8, a ratio of 1.0, and units from 1 to the largest integer by 1.
    marks = 8 + 1000 * 49979687 + 1299709 + (2**31 - 1) * 15485863 + 32452843
    assert take(client) == {
        ("providers", 0): 3,
        ("generations", 0): 6,
        ("weighted generations", 0): 1 * 2 + 4 * 2 + 9 * 2,
        ("roots", 0): 1 * 1 + 4 * 2 + 9 * 2,
        ("parents", 0): 9 * 2,
        ("used", 0): 6,
        ("weighted used", 0): 1 * 1 + 4 * 5,
        ("members", 0): 1,
        ("weighted members", 0): 9 * 1,
        ("marks", 0): 2 * (marks % MARKS),
        ("weighted marks", 0): (1 + 4) * (marks % MARKS),
        ("traits", 0): 1,
        ("weighted traits", 0): 3 * trait.id,
    }
