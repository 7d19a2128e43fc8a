# SPDX-License-Identifier: Apache-2.0
"""Hypervisors over libvirt: their domains, the owners of these, and their definitions.

Nothing else uses libvirt's binding, which the extra `libvirt` installs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from threading import Thread
from typing import Any, Concatenate, ParamSpec, TypeVar
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from trueup.reconcile.facts import (
    DOMAINS_OF,
    LIBVIRT,
    Domain,
    DomainRecord,
    SourceStatus,
    Unsupported,
)
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.threads import threads

AT_ONCE = 8
# Seconds in which a hypervisor must answer all questions about one host, or of one change.
ANSWER_SECONDS = 60
# `{host}` stands for a compute host's name.
PATTERN = "qemu+ssh://nova@{host}/system"
# A version follows, 1.0 or 1.1; both have the elements that are read here.
_NOVA = "{http://openstack.org/xmlns/libvirt/nova/"
# virDomainState
_STATES = (
    "no state",
    "running",
    "blocked",
    "paused",
    "shutting down",
    "shut off",
    "crashed",
    "suspended by power management",
)


_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")


def _bounded(
    ask: Callable[Concatenate["Hypervisors", str, _Asked], _Answer],
) -> Callable[Concatenate["Hypervisors", str, _Asked], _Answer]:
    """The same method of a host, which raises Unreachable if the answer takes too long.

    libvirt waits for a silent server without a limit, and Ctrl-C waits with it. The thread that
    asks is given up, and ends with the process.
    """

    @wraps(ask)
    def bounded(
        self: "Hypervisors", host: str, /, *words: _Asked.args, **named: _Asked.kwargs
    ) -> _Answer:
        answer: Future[_Answer] = Future()

        def fetch() -> None:
            try:
                answer.set_result(ask(self, host, *words, **named))
            except Exception as error:
                answer.set_exception(error)

        Thread(target=fetch, daemon=True).start()
        try:
            return answer.result(ANSWER_SECONDS)
        except TimeoutError:
            reason = f"{self.uri(host)} gave no answer for {ANSWER_SECONDS} s"
            raise Unreachable(host, reason) from None

    return bounded


@dataclass(frozen=True, slots=True)
class HostDomains:
    """The domains of one host, or the reason why they are unreadable."""

    host: str
    domains: tuple[Domain, ...] = ()
    reason: str = ""


class Hypervisors:
    """The hypervisors of a cloud.

    A host's URI is made from the pattern, unless `uris` has one for it.
    """

    def __init__(self, pattern: str = PATTERN, uris: Mapping[str, str] | None = None) -> None:
        """Raises ModuleNotFoundError where the binding is not installed."""
        self._pattern = pattern
        self._uris = dict(uris or {})
        self._libvirt: Any = import_module("libvirt")
        # Without a handler the binding prints every error as well as raising it.
        self._libvirt.registerErrorHandler(lambda *_: None, None)

    def uri(self, host: str) -> str:
        return self._uris.get(host) or self._pattern.format(host=host)

    def domains(self, hosts: Iterable[str]) -> Iterator[HostDomains]:
        """The domains of these hosts, or the reasons why they are unreadable, in this order."""
        with threads(AT_ONCE) as pool:
            yield from pool.map(self._read, hosts)

    @_bounded
    def definition(self, host: str, domain: str) -> str | None:
        """The inactive definition of a domain; None: the host has no such domain.

        Raises Unreachable.
        """
        with self._reading(host) as connection:
            found = _domain_of(connection, domain)
            return found and self._text(found)

    @_bounded
    def record(self, host: str, domain: str) -> DomainRecord | None:
        """A domain's definition and its state on disk; None: the host has no such domain.

        Raises Unreachable.
        """
        with self._reading(host) as connection:
            found = _domain_of(connection, domain)
            if found is None:
                return None
            text = self._text(found)
            root = _parsed(text, host)
            return DomainRecord(
                domain=domain,
                host=host,
                xml=text,
                disks=tuple(_disks(root)),
                nvram=root.findtext("os/nvram") or "",
                managed_save=bool(found.hasManagedSaveImage(0)),
                snapshots=found.snapshotNum(0),
            )

    @_bounded
    def define(self, host: str, text: str) -> str:
        """Define a domain; "" if libvirt accepts it, else its reason. Raises Unreachable."""
        with self._writing(host) as connection:
            try:
                connection.defineXML(text)
            except self._libvirt.libvirtError as error:
                return self._refusal(connection, error, host)
        return ""

    @_bounded
    def undefine(self, host: str, domain: str, discards: Collection[str]) -> str:
        """Remove the definition of a domain; "" if it was removed, else the reason.

        Disks are kept, and so is everything that `discards` (as `steps.Discard`) does not name.
        SAFETY: the guest's state is read immediately before. A running guest is stopped only with
        "guest", and a guest that starts in between gets its definition back. Raises Unreachable.
        """
        with self._writing(host) as connection:
            try:
                found = connection.lookupByUUIDString(domain)
                text = self._text(found)
                if found.isActive() and "guest" not in discards:
                    return "its guest runs"
                if found.isActive():
                    found.destroy()
                if _domain_of(connection, domain) is None:
                    # The domain was transient: without its guest it has no definition.
                    return ""
                found.undefineFlags(self._undefine_flags(_parsed(text, host), discards))
                if _domain_of(connection, domain) is not None:
                    connection.defineXML(text)
                    return "its guest was started at that moment; its definition is there again"
            except self._libvirt.libvirtError as error:
                return self._refusal(connection, error, host)
        return ""

    def _undefine_flags(self, root: Element, discards: Collection[str]) -> int:
        flags = 0
        if "managed-save" in discards:
            flags |= self._libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
        # libvirt's drivers refuse flags for devices that a domain cannot have.
        if root.find("os/nvram") is not None or root.find("os/loader") is not None:
            lost = "nvram" in discards
            flags |= (
                self._libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
                if lost
                else self._libvirt.VIR_DOMAIN_UNDEFINE_KEEP_NVRAM
            )
        if root.find("devices/tpm") is not None:
            flags |= self._libvirt.VIR_DOMAIN_UNDEFINE_KEEP_TPM
        return int(flags)

    def _text(self, domain: Any) -> str:
        return str(domain.XMLDesc(self._libvirt.VIR_DOMAIN_XML_INACTIVE))

    @contextmanager
    def _reading(self, host: str) -> Iterator[Any]:
        """A connection that cannot write; its errors raise Unreachable."""
        try:
            connection = self._libvirt.openReadOnly(self.uri(host))
            try:
                yield connection
            finally:
                connection.close()
        except self._libvirt.libvirtError as error:
            raise Unreachable(host, str(error)) from error

    @contextmanager
    def _writing(self, host: str) -> Iterator[Any]:
        try:
            connection = self._libvirt.open(self.uri(host))
        except self._libvirt.libvirtError as error:
            raise Unreachable(host, str(error)) from error
        try:
            yield connection
        finally:
            connection.close()

    def _refusal(self, connection: Any, error: Exception, host: str) -> str:
        """Why libvirt refused a write. Raises Unreachable if the connection to it broke."""
        if not connection.isAlive():
            raise Unreachable(host, str(error)) from error
        return str(error)

    def _read(self, host: str) -> HostDomains:
        try:
            return HostDomains(host, self._listed(host))
        except Unreachable as silence:
            return HostDomains(host, reason=silence.reason)

    @_bounded
    def _listed(self, host: str) -> tuple[Domain, ...]:
        with self._reading(host) as connection:
            found = connection.listAllDomains(0)
            rows = [(domain.XMLDesc(0), domain.state()[0]) for domain in found]
        domains = (parse_domain(text, state, host) for text, state in rows)
        return tuple(sorted(domains, key=lambda domain: domain.uuid))


def status_of(replies: Iterable[HostDomains]) -> SourceStatus:
    """One status for all hypervisors.

    It names each hypervisor that does not answer, but the coverage stays complete: a dead host from
    which instances were evacuated cannot answer.
    """
    every = tuple(replies)
    return SourceStatus(
        LIBVIRT,
        answered=True,
        rows=sum(len(reply.domains) for reply in every),
        read_via="API",
        unsupported=tuple(
            Unsupported(DOMAINS_OF.format(reply.host), reply.reason)
            for reply in every
            if reply.reason
        ),
    )


def parse_domain(text: str, state: int, host: str) -> Domain:
    """A domain from its XML. Raises Unreachable if this is not the XML of a domain.

    `ours` says whether Nova made the domain, which then has Nova's metadata.
    """
    root = _parsed(text, host)
    uuid, name = root.findtext("uuid"), root.findtext("name")
    if not uuid or not name:
        raise Unreachable(host, "a domain has no uuid or no name")
    instances = (
        element for element in root.findall("metadata/{*}instance") if element.tag.startswith(_NOVA)
    )
    instance = next(instances, None)
    return Domain(
        uuid=uuid.lower(),
        host=host,
        name=name,
        state=_STATES[state] if 0 <= state < len(_STATES) else f"state {state}",
        ours=instance is not None,
        project=_attribute(instance, "{*}owner/{*}project", "uuid"),
        flavor=_attribute(instance, "{*}flavor", "name"),
        mediated_devices=tuple(
            address.get("uuid", "") for address in _sources(root, "hostdev[@type='mdev']")
        ),
        # A network interface may be a virtual function as well.
        host_devices=tuple(
            _address(address)
            for kind in ("hostdev[@type='pci']", "interface[@type='hostdev']")
            for address in _sources(root, kind)
        ),
    )


def _parsed(text: str, host: str) -> Element:
    """The root of a domain's XML. Raises Unreachable."""
    try:
        # SAFETY: a compromised host may send any document; entities are refused.
        root: Element = fromstring(text)
    except (ParseError, DefusedXmlException) as error:
        raise Unreachable(host, f"the XML of a domain cannot be read: {error}") from error
    return root


def _domain_of(connection: Any, uuid: str) -> Any:
    """The domain with this uuid, running or not; None: this hypervisor does not have it."""
    return {domain.UUIDString(): domain for domain in connection.listAllDomains(0)}.get(uuid)


def _disks(root: Element) -> Iterator[str]:
    """The paths or names of a domain's disks; empty drives are left out."""
    for source in root.findall("devices/disk/source"):
        where = source.get("file") or source.get("dev") or source.get("name")
        if where:
            yield where


def _attribute(element: Element | None, path: str, name: str) -> str:
    found = None if element is None else element.find(path)
    return "" if found is None else found.get(name, "")


def _sources(root: Element, kind: str) -> list[Element]:
    return root.findall(f"devices/{kind}/source/address")


def _address(element: Element) -> str:
    """`0000:81:00.1`, of four hexadecimal numbers."""
    domain, bus, slot, function = (
        int(element.get(name, "0"), 16) for name in ("domain", "bus", "slot", "function")
    )
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"
