# SPDX-License-Identifier: Apache-2.0
"""A host that was renamed: a provider by its old name, and one by its new name."""

from dataclasses import dataclass

from tests.cli.commands.emptying import PROVIDER
from tests.cli.commands.rekeying import CELL, HOST, NEW, Rekeyed, with_another_uuid
from tests.reconcile.small import Small

NEW_NAME = "compute-01.new.example"


@dataclass(frozen=True)
class Renamed:
    """The old provider with its children, and an instance; the new provider is NEW."""

    old: Rekeyed
    stock: dict


def renamed(small: Small) -> Renamed:
    """Nova has the node by its new name; its provider has the same inventories, and no consumer."""
    old = with_another_uuid(small)
    node = "UPDATE compute_nodes SET hypervisor_hostname = ? WHERE uuid = ?"
    small.sql(CELL, node, NEW_NAME, NEW)
    small.sql(CELL, "UPDATE instances SET node = ? WHERE host = ?", NEW_NAME, HOST)
    moves = "UPDATE migrations SET {0}_node = ? WHERE {0}_compute = ?"
    for side in ("source", "dest"):
        small.sql(CELL, moves.format(side), NEW_NAME, HOST)
    return Renamed(old, _new_provider(small, old.old, NEW_NAME))


def made_again(small: Small) -> Rekeyed:
    """Nova has a new node by the same name, and Placement its provider; the old has NEW_NAME."""
    old = with_another_uuid(small)
    body = {"name": NEW_NAME, "parent_provider_uuid": None}
    assert small.call("PUT", PROVIDER.format(old.old), body).status_code == 200
    _new_provider(small, old.old, old.name)
    return old


def _new_provider(small: Small, old: str, name: str) -> dict:
    """Make NEW with this name, and with the inventories of the old provider."""
    stock = small.call("GET", f"{PROVIDER.format(old)}/inventories").json()["inventories"]
    body = {"name": name, "uuid": NEW}
    assert small.call("POST", "/resource_providers", body).status_code == 200
    for generation, (part, content) in enumerate(
        {"inventories": stock, "traits": ["COMPUTE_NODE", "OWNER_NOVA"]}.items()
    ):
        body = {"resource_provider_generation": generation, part: content}
        answer = small.call("PUT", f"{PROVIDER.format(NEW)}/{part}", body)
        assert answer.status_code == 200, answer.text
    return stock
