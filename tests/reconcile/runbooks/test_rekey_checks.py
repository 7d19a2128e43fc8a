# SPDX-License-Identifier: Apache-2.0
"""What is checked before a rekeying, first of all which side is the wrong one."""

from dataclasses import replace

import pytest

from tests.reconcile.runbooks.preparing import rekeying_of, table_of
from tests.scenarios.drafting import Draft
from tests.scenarios.names import uuid_of
from trueup.reconcile.facts import ComputeNode

NEW = uuid_of("another")
CLASH = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 uuid=another
  server web on h1 {} VCPU=2 MEMORY_MB=256
holds web h1 VCPU=2 MEMORY_MB=256
"""


def identity(text: str, compute_id: str | None, alter=lambda _: None) -> tuple[str, str]:
    prepared = rekeying_of("h1", text, compute_id, alter)
    found = [one for one in prepared.checks if one.part == "identity"]
    [check] = [one for one in found if one.outlook.value != "ok"]
    return check.outlook.value, check.then


@pytest.mark.parametrize(
    ("compute_id", "verdict", "words"),
    [
        (None, "blocks", "read the file compute_id"),
        (NEW, "planned", "Placement is the wrong side"),
        (uuid_of("h1"), "blocks", f"UPDATE compute_nodes SET uuid = '{uuid_of('h1')}'"),
        (uuid_of("h7"), "blocks", "which is neither"),
    ],
)
def test_the_file_on_the_host_decides(compute_id, verdict, words):
    found = identity(CLASH.format(""), compute_id)
    assert found[0] == verdict
    assert words in found[1]


def test_a_deleted_compute_node_with_the_old_uuid_is_a_proof():
    def deleted(draft: Draft) -> None:
        row = ComputeNode(uuid_of("h1"), uuid_of("cell1"), "h1", "h1", 9, deleted=True)
        draft.deleted_nodes.append(row)

    verdict, words = identity(CLASH.format(""), None, deleted)
    assert verdict == "planned"
    assert "the compute node with the provider's uuid is deleted" in words


def test_a_compute_node_without_a_uuid_gets_no_provider_of_it():
    """Its provider would be renamed, and the new one refused."""

    def without_uuid(draft: Draft) -> None:
        [node] = draft.nodes
        draft.nodes[:] = [replace(node, uuid="")]
        draft.deleted_nodes.append(replace(node, uuid=uuid_of("h1"), deleted=True))

    verdict, words = identity(CLASH.format(""), None, without_uuid)
    assert verdict == "blocks"
    assert "start nova-compute" in words


def test_an_aggregate_that_placement_refuses_blocks():
    """The new provider could not be put into it, after the old one was renamed."""
    text = CLASH.format("").replace("uuid=another", "uuid=another aggregates=rack,[x]")
    table = table_of(rekeying_of("h1", text, NEW))
    assert "aggregate [x] blocks" in table
    assert not any(line.startswith("aggregate rack") for line in table)


def test_a_provider_of_another_host_is_left_to_it():
    text = CLASH.format("") + "cell2\n  host h1 VCPU=8\n"
    verdict, words = identity(text, NEW)
    assert verdict == "blocks"
    assert "names of hosts must be unique" in words


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (CLASH.format("").replace("uuid=", "up uuid="), "service h1 blocks"),
        (CLASH.format("task=migrating"), f"instance {uuid_of('web')} blocks"),
        (
            CLASH.format("") + "  migration of web from h1 to h1 running\n",
            f"migration {uuid_of('migration-of-web')} blocks",
        ),
        (CLASH.format("") + "cell2 silent\n", "evidence cell2 blocks"),
    ],
)
def test_what_has_to_end_first(text, line):
    assert line in table_of(rekeying_of("h1", text, NEW))


def test_a_resize_that_is_not_confirmed_is_moved_as_it_is():
    text = CLASH.format("state=resized") + "  resize of web from h1 to h1 finished\n"
    assert not rekeying_of("h1", text, NEW).blocked


def test_a_bare_metal_node_has_the_uuid_that_ironic_gives_it():
    """Its name is that uuid, and it has no file compute_id."""

    def bare_metal(draft: Draft) -> None:
        [node] = draft.nodes
        draft.nodes[:] = [replace(node, node=NEW, hypervisor="ironic")]
        provider = draft.providers[uuid_of("h1")]
        draft.providers[uuid_of("h1")] = replace(provider, name=NEW)

    verdict, words = identity(CLASH.format(""), None, bare_metal)
    assert verdict == "planned"
    assert "the uuid that Ironic gives this bare metal node" in words
