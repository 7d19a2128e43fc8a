# SPDX-License-Identifier: Apache-2.0
from trueup.reconcile.facts import Port
from trueup.reconcile.sources.frozen import FrozenHypervisors, FrozenNeutron

PORT = Port("p", "i", "compute:nova", revision=7, profile={"pci_slot": "0000:81:00.0"})


def test_a_profile_is_what_was_written_last():
    frozen = FrozenNeutron([PORT])
    assert frozen.port("p") == {"binding:profile": PORT.profile, "revision_number": 7}
    assert frozen.port("another") is None
    assert frozen.set_profile("p", {"allocation": {"group": "nic"}}, 7).status_code == 200
    assert frozen.port("p")["revision_number"] == 8
    [left] = frozen.left
    assert (left.profile, left.allocation) == ({"allocation": {"group": "nic"}}, {"group": "nic"})
    assert left.device == PORT.device


def test_the_older_format_names_one_provider():
    frozen = FrozenNeutron([PORT])
    frozen.set_profile("p", {"allocation": "nic"}, 7)
    assert frozen.left[0].allocation == {"p": "nic"}


def test_a_definition_is_there_until_it_is_removed():
    frozen = FrozenHypervisors({("h1", "d"): "<domain/>"})
    assert (frozen.has("h1", "d"), frozen.definition("h1", "d")) == (True, "<domain/>")
    assert (frozen.has("h2", "d"), frozen.definition("h2", "d")) == (False, None)
    assert frozen.undefine("h1", "d", ()) == ""
    assert (frozen.has("h1", "d"), frozen.definition("h1", "d")) == (False, None)


def test_its_hosts_have_no_guests():
    [answer] = FrozenHypervisors({("h1", "d"): "<domain/>"}).domains(["h1"])
    assert (answer.host, answer.domains, answer.reason) == ("h1", (), "")
