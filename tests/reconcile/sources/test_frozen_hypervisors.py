# SPDX-License-Identifier: Apache-2.0
from trueup.reconcile.sources.frozen_hypervisors import FrozenHypervisors


def test_a_definition_is_there_until_it_is_removed():
    frozen = FrozenHypervisors({("h1", "d"): "<domain/>"})
    assert (frozen.has("h1", "d"), frozen.definition("h1", "d")) == (True, "<domain/>")
    assert (frozen.has("h2", "d"), frozen.definition("h2", "d")) == (False, None)
    assert frozen.undefine("h1", "d", ()) == ""
    assert (frozen.has("h1", "d"), frozen.definition("h1", "d")) == (False, None)


def test_its_hosts_have_no_guests():
    [answer] = FrozenHypervisors({("h1", "d"): "<domain/>"}).domains(["h1"])
    assert (answer.host, answer.domains, answer.reason) == ("h1", (), "")
