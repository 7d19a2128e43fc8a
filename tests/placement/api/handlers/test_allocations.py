# SPDX-License-Identifier: Apache-2.0
from sqlalchemy import insert, update

from tests.placement.client import UUID, Client
from trueup.placement.store.tables import allocations, consumers, resource_classes


def test_a_class_whose_name_ends_with_a_line_break_is_read_as_it_was_written(
    client: Client,
) -> None:
    """Upstream answers 500 and stores it."""
    name = "CUSTOM_A\n"
    with client.application.database.transaction() as tx:
        tx.execute(insert(resource_classes).values(id=10000, name=name))
    client.make_provider(1, inventories={name: 8})
    assert client.claim(100, {1: {name: 2}}).status == 204
    assert client.claim(100, {1: {name: 3}}, 1).status == 204
    of_consumer = client.get(f"/allocations/{UUID(100)}").json["allocations"]
    assert of_consumer[UUID(1)]["resources"] == {name: 3}
    of_provider = client.get(f"/resource_providers/{UUID(1)}/allocations").json["allocations"]
    assert of_provider[UUID(100)]["resources"] == {name: 3}


def test_the_id_of_a_consumer_may_be_any_text(client: Client) -> None:
    """In a row written by hand."""
    client.make_provider(1, inventories={"VCPU": 8})
    client.claim(100, {1: {"VCPU": 2}})
    with client.application.database.transaction() as tx:
        tx.execute(update(allocations).values(consumer_id="a|b"))
        tx.execute(update(consumers).values(uuid="a|b"))
    of_provider = client.get(f"/resource_providers/{UUID(1)}/allocations").json["allocations"]
    assert of_provider["a|b"] == {"consumer_generation": 1, "resources": {"VCPU": 2}}
    held = client.get("/allocations/a|b").json["allocations"]
    assert held[UUID(1)]["resources"] == {"VCPU": 2}
