# SPDX-License-Identifier: Apache-2.0
"""Targets outside Placement: Neutron's ports, Nova's compute services, libvirt's domains."""

import pytest
from msgspec import structs

from tests.reconcile.sources.broken_server import Reply, adapter_of, answering
from trueup.reconcile import changes
from trueup.reconcile.changes import Fate, Found
from trueup.reconcile.changes.target import NOT_AS_PLANNED
from trueup.reconcile.reasons import because
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.neutron import Neutron
from trueup.reconcile.sources.nova.services import ComputeServices
from trueup.reconcile.steps import (
    Change,
    DomainDefinition,
    DomainText,
    PortBinding,
    Profile,
    ServiceFields,
    ServiceRecord,
)

PORT = PortBinding("p")
READ = "GET /v2.0/ports/p?fields=binding:profile&fields=revision_number"
SERVICE = ServiceRecord("cell", "h1")
SERVICES = "GET /os-services?binary=nova-compute&host=h1"
ROW = {"id": "s-uuid", "host": "h1", "status": "disabled", "disabled_reason": "why"}
DISABLED = ServiceFields(disabled=True, disabled_reason="why", forced_down=False)
DOMAIN = DomainDefinition("h1", "i")


def cloud(**services: object) -> Cloud:
    return Cloud(nova=None, placement=None, **services)


def port(profile: dict, revision: int) -> Reply:
    return Reply(200, {"port": {"binding:profile": profile, "revision_number": revision}})


def test_a_ports_profile_is_replaced_at_its_revision():
    asked = []
    replies = {READ: port({"a": 1}, 4), "PUT /v2.0/ports/p": port({"b": 2}, 5)}
    with answering(replies, asked) as url:
        known = cloud(neutron=Neutron(adapter_of(url)))
        found = changes.read(PORT, known)
        assert found == Found(Profile({"a": 1}), {"p": 4})
        change = Change(PORT, found.state, Profile({"b": 2}), found.version)
        assert changes.write(change, known).accepted
    [put] = [request for request in asked if request.line.startswith("PUT")]
    assert put.body == {"port": {"binding:profile": {"b": 2}}}
    assert put.headers["HTTP_IF_MATCH"] == "revision_number=4"


def test_a_port_at_another_revision_is_refused_by_neutron():
    refusal = Reply(412, {"NeutronError": {"message": "Constrained to 4, but current is 5."}})
    with answering({"PUT /v2.0/ports/p": refusal}) as url:
        change = Change(PORT, Profile({}), Profile({"b": 2}), {"p": 4})
        reply = changes.write(change, cloud(neutron=Neutron(adapter_of(url))))
    assert (reply.accepted, reply.definite) == (False, True)
    assert "current is 5" in in_words(reply.reason)


def test_a_port_that_is_not_there_does_not_exist():
    with answering({}) as url:
        found = changes.read(PORT, cloud(neutron=Neutron(adapter_of(url))))
    assert found == Found(None, {"p": None})


def test_a_compute_service_is_set_as_a_whole():
    asked = []
    put = "PUT /os-services/s-uuid"
    replies = {SERVICES: Reply(200, {"services": [ROW]}), put: Reply(200, {"service": ROW})}
    with answering(replies, asked) as url:
        known = cloud(compute=ComputeServices(adapter_of(url)))
        found = changes.read(SERVICE, known)
        assert found.state == DISABLED
        after = ServiceFields(disabled=False, disabled_reason="", forced_down=True)
        change = Change(SERVICE, found.state, after, found.version)
        reply = changes.write(change, known)
        assert reply.accepted
        assert reply.version == changes.version_after(change) != found.version
        back = Change(SERVICE, after, structs.replace(DISABLED, forced_down=True), found.version)
        assert changes.write(back, known).accepted
        stale = structs.replace(change, version={"h1": "another"})
        assert changes.write(stale, known) == NOT_AS_PLANNED
    bodies = [request.body for request in asked if request.line == put]
    assert bodies == [
        {"status": "enabled", "forced_down": True},
        {"status": "disabled", "forced_down": True, "disabled_reason": "why"},
    ]


def test_a_compute_service_is_deleted_and_never_made():
    asked = []
    delete = "DELETE /os-services/s-uuid"
    replies = {SERVICES: Reply(200, {"services": [ROW]}), delete: Reply(204, {})}
    with answering(replies, asked) as url:
        known = cloud(compute=ComputeServices(adapter_of(url)))
        found = changes.read(SERVICE, known)
        change = Change(SERVICE, found.state, None, found.version)
        reply = changes.write(change, known)
        assert (reply.accepted, reply.version) == (True, {"h1": None})
        back = Change(SERVICE, None, found.state, {"h1": None})
        assert changes.write(back, known).reason == because("service-not-made-again")
    assert [request.line for request in asked if request.line == delete] == [delete]


def test_a_host_without_a_compute_service():
    with answering({SERVICES: Reply(200, {"services": [ROW | {"host": "h10"}]})}) as url:
        known = cloud(compute=ComputeServices(adapter_of(url)))
        assert changes.read(SERVICE, known) == Found(None, {"h1": None})
        with pytest.raises(Unreachable):
            known.compute.set("h1", {})


class OneHypervisor:
    """Keeps one definition, and adds a line of its own as libvirt does."""

    def __init__(self) -> None:
        self.text = "<domain>1</domain>"

    def definition(self, host: str, domain: str) -> str | None:
        return self.text if (host, domain) == ("h1", "i") else None

    def define(self, host: str, text: str) -> str:
        if "bad" in text:
            return "XML error"
        self.text = text
        return ""


def test_a_domain_is_defined_anew_and_back():
    known = cloud(hypervisors=OneHypervisor())
    found = changes.read(DOMAIN, known)
    after = DomainText("<domain>2</domain>")
    change = Change(DOMAIN, found.state, after, found.version)
    assert changes.fate(change, found) is Fate.UNWRITTEN
    assert changes.write(change, known).accepted
    now = changes.read(DOMAIN, known)
    assert changes.fate(change, now) is Fate.WRITTEN
    assert changes.write(change, known) == NOT_AS_PLANNED
    back = Change(DOMAIN, after, found.state, now.version)
    assert changes.write(back, known).accepted
    assert changes.read(DOMAIN, known) == found


def test_a_definition_that_libvirt_refuses_is_refused():
    known = cloud(hypervisors=OneHypervisor())
    found = changes.read(DOMAIN, known)
    reply = changes.write(Change(DOMAIN, found.state, DomainText("bad"), found.version), known)
    assert (reply.accepted, reply.definite) == (False, True)
    assert in_words(reply.reason) == "XML error"


def test_a_domain_that_is_not_there_does_not_exist():
    found = changes.read(DomainDefinition("h1", "other"), cloud(hypervisors=OneHypervisor()))
    assert found == Found(None, {"other": None})


@pytest.mark.parametrize("target", [PORT, SERVICE, DOMAIN])
def test_a_service_that_is_not_known_is_silent(target):
    with pytest.raises(Unreachable):
        changes.read(target, cloud())
