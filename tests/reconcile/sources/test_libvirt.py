# SPDX-License-Identifier: Apache-2.0
"""Domains of libvirt's own test driver, whose hosts are files: see recordings/hypervisors.

Its binding is built where libvirt-dev is installed.
"""

import socket
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.clouds import hypervisors as recorded
from tests.clouds.answers import RECORDINGS
from tests.kills.hypervisor import MISSING, hypervisor
from tests.servers.domains import binding, connected, define, states
from tests.servers.processes import ProgramMissing
from tests.servers.skipping import skip_without
from trueup.reconcile.facts import Domain
from trueup.reconcile.sources import libvirt as source
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.libvirt import (
    PATTERN,
    HostDomains,
    Hypervisors,
    parse_domain,
    status_of,
)

HOSTS = f"test://{RECORDINGS}/hypervisors/{{host}}.xml"
PLAIN = "<domain><name>a</name><uuid>U-1</uuid>{}</domain>"


@pytest.fixture
def libvirt() -> Any:
    try:
        return binding()
    except ProgramMissing as missing:
        skip_without(str(missing))


@pytest.fixture
def hypervisors(libvirt: Any) -> Hypervisors:
    return Hypervisors(HOSTS)


def test_the_domains_of_a_host(hypervisors):
    [reported] = hypervisors.domains(["devstack1"])
    foreign, pinned, older = reported.domains
    assert pinned == Domain(
        uuid="64f07df9-a82b-4e95-bf52-d04049285a55",
        host="devstack1",
        name="instance-0000000a",
        state="running",
        ours=True,
        project="1a86653d8485464f803264dbae86b756",
        flavor="x.pinned",
        mediated_devices=("4b20d080-1b54-4048-85b3-a6a62d165c01",),
        host_devices=("0000:81:00.1", "0000:3b:0a.3"),
    )
    assert (older.ours, older.uuid) == (True, "815de3c2-9295-4060-942b-e8a23f66f8c3")
    assert (foreign.ours, foreign.project, foreign.flavor) == (False, "", "")


def test_the_domains_of_a_real_libvirt(monkeypatch):
    """QEMU's, defined as Nova's driver defines them; recordings/README.md says how."""
    binding = recorded.replayed("qemu", "qemu+ssh://nova@devstack2/system")
    monkeypatch.setitem(sys.modules, "libvirt", binding)
    reported, silent = Hypervisors().domains(["devstack2", "devstack3"])
    stranger, web, halted, special = reported.domains
    assert [(one.name, one.state, one.ours) for one in reported.domains] == [
        ("monitoring", "shut off", False),
        ("instance-00000001", "running", True),
        ("instance-00000002", "paused", True),
        ("instance-00000003", "shut off", True),
    ]
    assert (web.uuid, web.project, web.flavor) == (
        "64f07df9-a82b-4e95-bf52-d04049285a55", "dde09582db8e46f894965fe3ff693940", "x.tiny"
    )  # fmt: skip
    assert special.mediated_devices == ("4b20d080-1b54-4048-85b3-a6a62d165c01",)
    assert special.host_devices == ("0000:81:00.1", "0000:3b:0a.3")
    assert halted.host_devices == stranger.host_devices == (), "its own buses are not the host's"
    assert silent.reason == "nothing was recorded of qemu+ssh://nova@devstack3/system"


def test_a_host_that_is_silent_does_not_stop_the_others(hypervisors):
    gone, there = hypervisors.domains(["gone", "devstack1"])
    assert (gone.host, gone.domains, bool(gone.reason)) == ("gone", (), True)
    assert len(there.domains) == 3


def test_a_uri_of_its_own_goes_before_the_pattern(hypervisors):
    mine = Hypervisors("test:///nowhere", {"h9": HOSTS.format(host="devstack1")})
    assert [len(one.domains) for one in mine.domains(["h9"])] == [3]
    assert mine.uri("h1") == "test:///nowhere"
    assert PATTERN.format(host="h1") == "qemu+ssh://nova@h1/system"


def test_without_the_binding_it_is_said_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "libvirt", None)
    with pytest.raises(ModuleNotFoundError) as missing:
        Hypervisors()
    assert missing.value.name == "libvirt"


def test_silent_hosts_are_named_and_the_evidence_stays_complete():
    domain = parse_domain(PLAIN.format(""), 1, "h1")
    answer = status_of([HostDomains("h1", (domain,)), HostDomains("h2", reason="no route to host")])
    assert (answer.answered, answer.rows, answer.partial) == (True, 1, True)
    [silent] = answer.unsupported
    assert (silent.what, silent.reason) == ("domains of h2", "no route to host")


@pytest.mark.parametrize(
    ("state", "word"), [(1, "running"), (3, "paused"), (5, "shut off"), (99, "state 99")]
)
def test_states_have_names(state, word):
    assert parse_domain(PLAIN.format(""), state, "h1").state == word


def test_metadata_of_others_is_not_novas():
    text = '<metadata><x:instance xmlns:x="http://other.example/1"/></metadata>'
    assert not parse_domain(PLAIN.format(text), 1, "h1").ours


WITH_ENTITY = '<!DOCTYPE domain [<!ENTITY a "aaaa">]>' + PLAIN.format("&a;")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<domain>",
        "<domain/>",
        "<domain><name>a</name></domain>",
        WITH_ENTITY,
    ],
)
def test_what_is_no_domain_is_no_answer(text):
    with pytest.raises(Unreachable) as silent:
        parse_domain(text, 1, "h1")
    assert silent.value.source == "h1"


@pytest.fixture(scope="module")
def libvirtd() -> Iterator[str]:
    with hypervisor() as uri:
        if not uri:
            skip_without(MISSING)
        yield uri


def test_a_hypervisor_that_accepts_and_is_silent_is_given_up(libvirt, monkeypatch):
    monkeypatch.setattr(source, "ANSWER_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        uri = f"qemu+tcp://127.0.0.1:{dumb.getsockname()[1]}/system"
        here = Hypervisors(uri)
        [reported] = here.domains(["h1"])
        assert reported == HostDomains("h1", reason=f"{uri} gave no answer for 1 s")
        for ask in (here.record, here.definition, lambda *asked: here.undefine(*asked, ())):
            with pytest.raises(Unreachable) as silent:
                ask("h1", GHOST)
            assert (silent.value.source, silent.value.reason) == ("h1", reported.reason)


WITH_TPM = "<devices><tpm/></devices>"
GHOST = "64f07df9-a82b-4e95-bf52-d04049285a55"


def test_a_definition_is_removed_and_its_disks_are_named(libvirtd):
    define(libvirtd, GHOST)
    here = Hypervisors(libvirtd)
    record = here.record("h1", GHOST)
    assert record.disks == (f"/var/lib/nova/instances/{GHOST}/disk",)
    assert (record.managed_save, record.snapshots, record.nvram) == (False, 0, "")
    assert record.xml == here.definition("h1", GHOST)
    assert here.undefine("h1", GHOST, ()) == ""
    assert here.record("h1", GHOST) is here.definition("h1", GHOST) is None
    assert "Domain not found" in here.undefine("h1", GHOST, ())
    assert here.define("h1", record.xml) == ""
    assert here.record("h1", GHOST) == record
    assert here.undefine("h1", GHOST, ()) == ""


def test_invariant_13_a_guest_that_runs_is_stopped_only_if_that_is_named(libvirtd):
    define(libvirtd, GHOST, running=True)
    here = Hypervisors(libvirtd)
    assert here.undefine("h1", GHOST, ("nvram", "managed-save")) == "its guest runs"
    assert states(libvirtd)[GHOST]
    assert here.undefine("h1", GHOST, ("guest",)) == ""
    assert GHOST not in states(libvirtd)


def test_saved_memory_is_kept_unless_it_is_named(libvirtd):
    define(libvirtd, GHOST, running=True)
    with connected(libvirtd) as connection:
        connection.lookupByUUIDString(GHOST).managedSave(0)
    here = Hypervisors(libvirtd)
    assert here.record("h1", GHOST).managed_save
    assert "managed save image" in here.undefine("h1", GHOST, ())
    assert GHOST in states(libvirtd)
    assert here.undefine("h1", GHOST, ("managed-save",)) == ""
    assert GHOST not in states(libvirtd)


@pytest.mark.parametrize(("discards", "flags"), [((), 8 | 64), (("nvram",), 4 | 64)])
def test_firmware_variables_and_tpm_state_are_kept_unless_named(
    libvirt, monkeypatch, discards, flags
):
    """libvirt's test driver has neither. The numbers are libvirt's: 4 removes NVRAM, 8 keeps it, 64
    keeps the TPM's state."""
    asked: list[int] = []
    there = [
        SimpleNamespace(
            XMLDesc=lambda _: PLAIN.format("<os><nvram>/vars.fd</nvram></os>" + WITH_TPM),
            UUIDString=lambda: GHOST,
            isActive=lambda: False,
            undefineFlags=lambda given: (asked.append(given), there.clear()),
        )
    ]
    connection = SimpleNamespace(
        lookupByUUIDString=lambda _: there[0], listAllDomains=lambda _: there, close=lambda: None
    )
    here = Hypervisors("test:///default")
    monkeypatch.setattr(libvirt, "open", lambda _: connection)
    assert here.undefine("h1", GHOST, discards) == ""
    assert asked == [flags]
