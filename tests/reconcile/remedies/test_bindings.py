# SPDX-License-Identifier: Apache-2.0
"""Whether binding profiles name the providers of which the instance holds its ports' resources."""

import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.remedies.bindings import binding_changes, not_writable, wrong_bindings
from trueup.reconcile.steps import Change, PortBinding, Profile

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
provider nic of h1 NET_BW=100
provider other of h1 NET_BW=100
"""
WEB, P1, GROUP = uuid_of("web"), uuid_of("p1"), uuid_of("group of p1")
NIC, OTHER = uuid_of("nic"), uuid_of("other")


def found(port: str, **held: int):
    facts = facts_of(CLOUD + port)
    amounts = {uuid_of(name): {"NET_BW": amount} for name, amount in held.items()}
    return list(wrong_bindings(uuid_of("h1"), facts.alive[WEB], amounts, facts))


@pytest.mark.parametrize(
    ("port", "right"),
    [
        ("port p1 of web NET_BW=5", {GROUP: NIC}),
        ("port p1 of web NET_BW=5 older", {P1: NIC}),
        ("port p1 of web NET_BW=5 named=h1", {GROUP: NIC}),
        ("port p1 of web NET_BW=5 named=other", None),
    ],
)
def test_a_profile_that_does_not_name_what_is_held(port, right):
    [wrong] = found(port, nic=5)
    assert (wrong.port.id, wrong.right) == (P1, right)


@pytest.mark.parametrize(
    "port",
    [
        "port p1 of web NET_BW=5 named=nic",
        "port p1 of web NET_BW=5 older named=nic",
        "port p1 of web NET_BW=5 vif=unbound",
        "port p1 of web NET_BW=5 host=h2",
        "port p1 of web NET_BW=6",  # nothing of it is held: the claim is wrong
        "port p1 of web named=other",
        "neutron",
    ],
)
def test_nothing_is_wrong_with_the_profile(port):
    assert found(port, nic=5) == []


def test_the_change_keeps_the_rest_of_the_profile_and_is_made_at_the_ports_revision():
    wrong = found("port p1 of web NET_BW=5", nic=5)
    assert binding_changes(wrong) == (
        Change(PortBinding(P1), Profile({}), Profile({"allocation": {GROUP: NIC}}), {P1: 7}),
    )


def test_what_is_not_known_is_not_written():
    unknown = found("port p1 of web NET_BW=5 named=other", nic=5)
    assert binding_changes(unknown) == ()
    assert not_writable(unknown, facts_of(CLOUD)) is None


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("", None),
        (" unrevised", "port-without-revision"),
        ("\nchosen nic for p1", None),
        ("\nchosen h2 for p1", "chosen-provider-wrong"),
    ],
)
def test_a_write_needs_a_revision_and_no_choice_against_it(words, why):
    port = f"port p1 of web NET_BW=5{words}"
    reason = not_writable(found(port, nic=5), facts_of(CLOUD + port))
    assert (reason.name if reason else None) == why
