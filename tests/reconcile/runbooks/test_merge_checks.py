# SPDX-License-Identifier: Apache-2.0
"""What is checked before two providers become one."""

import pytest

from tests.reconcile.runbooks.preparing import merging_of
from tests.reconcile.runbooks.test_merge import NEW, RENAMED
from trueup.reconcile.runbooks.preflight import Outlook

OTHERS = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
provider lost VCPU=8
"""


def blocking(text: str, old: str = "h1", new: str = NEW) -> list[str]:
    prepared = merging_of(old, new, text)
    rows = [one for one in prepared.checks if one.outlook is Outlook.BLOCKS]
    assert bool(rows) is prepared.blocked is not bool(prepared.plan.steps)
    return [f"{one.part}: {one.found}: {one.then}" for one in rows]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RENAMED.replace("neutron\n", "").replace("port p1", "# port p1"),
         "ports: Neutron is not asked"),
        (RENAMED.replace("named=h1:agent", "named=h1:agent unrevised"), "no revision number"),
        (RENAMED.replace("provider h1.example.org VCPU=8", "provider h1.example.org VCPU=1"),
         "room: 2 of VCPU are to be moved"),
        (RENAMED.replace("holds db h1.example.org VCPU=1", "holds db h1.example.org VCPU=3"),
         "consumer: it holds other amounts of h1.example.org"),
        (RENAMED + "holds container h1 VCPU=1\n", "consumer: no instance or migration"),
        (RENAMED.replace("server web on h1 VCPU", "server web on h1 task=migrating VCPU"),
         "instance: web is migrating"),
        (RENAMED + "cell2 silent\n", "evidence: it is down"),
    ],
)  # fmt: skip
def test_what_stops_a_merging(text, words):
    assert any(one.startswith(words) or words in one for one in blocking(text))


def test_what_a_merging_leaves_in_nova_is_told():
    [left] = [one for one in merging_of("h1", NEW, RENAMED).checks if one.part == "Nova"]
    assert left.found == "2 instances of h1 say that they are on this node"
    assert f"UPDATE instances SET node = '{NEW}' WHERE host = 'h1' AND node = 'h1'" in left.then
    assert "compute_id = " in left.then


def test_an_instance_of_another_host_holds_residue():
    text = RENAMED.replace("cell1\n", "cell1\n  host h2 VCPU=8 MEMORY_MB=8192\n", 1)
    text = text.replace("server db on h1", "server db on h2")
    assert any("db is on h2: run `trueup plan`" in one for one in blocking(text))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("h1", "h2", "that compute node exists"),
        ("h1", "h1", "not those of two providers"),
        ("lost", "h2", "no consumer holds its resources"),
    ],
)
def test_two_providers_that_are_not_one_host(old, new, words):
    assert any(words in one for one in blocking(OTHERS, old, new))


def test_what_is_held_rightly_of_another_host_is_not_said_to_be_released():
    server = "  server web on h1 VCPU=1 MEMORY_MB=64\n"
    text = OTHERS.replace("provider lost", f"{server}provider lost") + "holds web h1 VCPU=1\n"
    assert not any("trueup plan" in one for one in blocking(text, "h1", "h2"))


BARE_METAL = """
cell1
  host bm1 compute=c1 hypervisor=ironic CUSTOM_GOLD=1
  host bm2 compute=c1 hypervisor=ironic CUSTOM_GOLD=1
forget bm1 service
"""


def test_two_bare_metal_nodes_of_one_host_are_two_machines():
    [reason] = blocking(BARE_METAL, "bm1", "bm2")
    assert "two bare metal nodes are two machines" in reason
