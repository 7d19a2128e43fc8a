# SPDX-License-Identifier: Apache-2.0
"""Which hosts are one machine."""

import pytest

from tests.scenarios.reading import read_cloud
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.rules.machines import answers, other_names, way_back

ONE = "cell1\n  host h1 address=10.0.0.1 VCPU=8\n"
OTHER = "  host {} without-provider {} up\n"


@pytest.mark.parametrize(
    ("name", "words", "is_one"),
    [
        ("h1.example.org", "node=h1 address=10.0.0.1", True),
        ("new", "node=h1 address=10.0.0.1", True),
        ("h1.example.org", "address=10.0.0.1", True),
        ("h1.example.org", "node=h1 address=10.0.0.2", False),
        ("h2", "address=10.0.0.1", False),
        ("h1.example.org", "node=h1 address=10.0.0.1 hypervisor=ironic", False),
    ],
)
def test_hypervisor_name_and_address_show_it(name, words, is_one):
    facts = read_cloud(ONE + OTHER.format(name, words)).facts()
    assert other_names("h1", facts) == ((name,) if is_one else ())
    assert other_names(name, facts) == (("h1",) if is_one else ())
    cell = facts.compute_nodes[0].cell
    assert bool(answers("h1", cell, facts)) is is_one
    assert ("host = h1" in in_words(way_back(name, facts))) is is_one


def test_without_addresses_their_domains_show_it():
    text = "cell1\n  host h1 VCPU=8\n" + OTHER.format("h1.example.org", "node=h1")
    guests = "".join(
        f"guest {name} on {host} running\n"
        for name in ("web", "api")
        for host in ("h1", "h1.example.org")
    )
    assert other_names("h1", read_cloud(text + guests).facts()) == ("h1.example.org",)
    assert other_names("h1", read_cloud(text).facts()) == ()
