# SPDX-License-Identifier: Apache-2.0
from trueup.reconcile.facts import Port
from trueup.reconcile.sources.frozen_neutron import FrozenNeutron

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
