# SPDX-License-Identifier: Apache-2.0
"""Anonymize: replaces names and UUIDs in facts by pseudonyms.

The same name always gets the same pseudonym, so an audit of anonymized facts has the same findings.
Without the key nobody can compute a name's pseudonym. Amounts, states, times and extra specs are
kept. Reasons in free text are removed, because they may contain anything.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar, cast

from trueup.reconcile import facts as kinds
from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason

# Sources that every cloud has: their names identify no cloud.
KNOWN_SOURCES = frozenset({"Placement", "Nova's API database", "Nova's API", "Neutron", "libvirt"})
REMOVED = "removed"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOBODY = frozenset("0-")

Fact = TypeVar("Fact")
Rule = Callable[["Pseudonyms", Any], Any]


class Pseudonyms:
    """The pseudonym of each name. A name that begins with one of `known_hosts` keeps its rest."""

    def __init__(self, key: bytes, known_hosts: Iterable[str] = ()) -> None:
        self._key = key
        # Names of nested providers begin with the host: "host:NIC Switch agent:ens1", "host_pci".
        hosts = sorted(filter(None, set(known_hosts)), key=len, reverse=True)
        words = "|".join(map(re.escape, hosts)) or r"(?!)"
        self._host = re.compile(rf"(?P<host>{words})(?P<rest>[:_#].*)?", re.DOTALL)
        self.uuid = cache(self._uuid)
        self.name = cache(self._name)

    def _uuid(self, text: str) -> str:
        """The pseudonym of a UUID. The empty text and the all-zero UUID are kept."""
        if _NOBODY.issuperset(text):
            return text
        digits = self._digits("uuid", text.lower().replace("-", ""))
        if not _UUID.fullmatch(text):
            # The same UUID in another form is another consumer; its pseudonym has another form too.
            return digits
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def _name(self, text: str) -> str:
        return f"name-{self._digits('name', text)[:12]}" if text else text

    def place(self, text: str) -> str:
        """The pseudonym of a host, node or provider, which often share a name."""
        known = self._host.fullmatch(text)
        if known is None:
            return self.uuid(text) if _UUID.fullmatch(text) else self.name(text)
        return self.name(known["host"]) + (known["rest"] or "")

    def _digits(self, domain: str, text: str) -> str:
        return hmac.new(self._key, f"{domain}:{text}".encode(), hashlib.sha256).hexdigest()[:32]


def anonymized(facts: Facts, key: bytes) -> Facts:
    """The same facts with pseudonyms. The same key gives the same pseudonyms."""
    hosts = {row.host for row in (*facts.compute_nodes, *facts.deleted_compute_nodes)}
    nodes = {row.node for row in (*facts.compute_nodes, *facts.deleted_compute_nodes)}
    return _fact(Pseudonyms(key, hosts | nodes), facts)


def _fact(names: Pseudonyms, fact: Fact) -> Fact:
    """One fact, with the rule of each field applied."""
    changed: dict[str, Any] = {}
    for name, rule in RULES.get(type(fact), {}).items():
        value = getattr(fact, name)
        if value:
            changed[name] = rule(names, value)
    return replace(cast(Any, fact), **changed) if changed else fact


def _uuid(names: Pseudonyms, text: str) -> str:
    return names.uuid(text)


def _name(names: Pseudonyms, text: str) -> str:
    return names.name(text)


def _place(names: Pseudonyms, text: str) -> str:
    return names.place(text)


def _source(names: Pseudonyms, text: str) -> str:
    return text if text in KNOWN_SOURCES else names.name(text)


def _removed(names: Pseudonyms, text: str) -> str:
    return REMOVED


def _address_only(names: Pseudonyms, profile: Mapping[str, Any]) -> dict[str, Any]:
    """Only the device's address of a binding profile: the rest may contain anything."""
    return {"pci_slot": profile["pci_slot"]} if profile.get("pci_slot") else {}


def _each(rule: Rule) -> Rule:
    return lambda names, values: type(values)(rule(names, value) for value in values)


def _keyed(key: Rule, value: Rule) -> Rule:
    def apply(names: Pseudonyms, values: Mapping[str, Any]) -> dict[str, Any]:
        return {key(names, text): value(names, held) for text, held in values.items()}

    return apply


def _kept(names: Pseudonyms, value: Any) -> Any:
    return value


_FACTS = _each(_fact)
_AMOUNTS = _keyed(_uuid, _kept)
_OWNER = {"project": _uuid, "user": _uuid}

# The rule of each field that contains a name. Every other field that may contain text is in KEPT.
RULES: Mapping[type, Mapping[str, Rule]] = {
    kinds.Facts: {
        "coverage": _fact,
        "cells": _keyed(_uuid, _name),
        "providers": _keyed(_uuid, _fact),
        "consumers": _keyed(_uuid, _AMOUNTS),
        "holdings": _keyed(_uuid, _fact),
        "owners": _keyed(_uuid, _fact),
        "disabled_cells": _each(_uuid),
        "request_specs": _each(_uuid),
        "specs": _keyed(_uuid, _fact),
        "heartbeats": _keyed(_uuid, _kept),
        "clocks_ahead": _keyed(_uuid, _kept),
        "ledger_writes": _keyed(_uuid, _kept),
        "port_holders": _keyed(_uuid, _uuid),
        "chosen_providers": _keyed(_uuid, _each(_place)),
        "hosts_in_scope": _each(_place),
        "hypervisors_asked": _each(_place),
        "providers_in_scope": _each(_uuid),
        **dict.fromkeys(
            (
                "instances", "migrations", "compute_nodes", "services", "deleted_compute_nodes",
                "deleted_services", "build_requests", "host_mappings", "instance_mappings",
                "host_aggregates", "block_devices", "pci_devices",
                "ports", "domains", "domain_records", "ledger_faults",
            ),
            _FACTS,
        ),
    },
    kinds.Coverage: {"sources": _FACTS},
    kinds.SourceStatus: {
        "source": _source, "reason": _removed, "unread": _FACTS, "unsupported": _FACTS,
    },
    kinds.Unread: {"reason": _removed},
    kinds.Unsupported: {"reason": _removed},
    kinds.Provider: {
        "uuid": _uuid, "name": _place, "root": _uuid, "parent": _uuid, "shares_with": _each(_uuid),
        "aggregates": _each(_uuid),
    },
    # Its words name a provider, a table or a class.
    kinds.LedgerFault: {"subject": _place, "what": _removed, "consumers": _each(_uuid)},
    kinds.Allocations: {"amounts": _AMOUNTS, **_OWNER},
    kinds.Owner: _OWNER,
    kinds.Holding: {"allocations": _fact},
    kinds.Flavor: {"name": _name},
    kinds.PciRequest: {"request_id": _uuid, "requester": _uuid},
    kinds.AssignedResource: {"provider": _uuid, "identifier": _name},
    kinds.Instance: {
        "uuid": _uuid, "name": _name, "cell": _uuid, "host": _place, "node": _place,
        "image": _uuid, "flavor": _fact, "old_flavor": _fact, "new_flavor": _fact,
        "pci_requests": _FACTS, "assigned_resources": _FACTS,
        "ports_holding": _each(_uuid), **_OWNER,
    },
    kinds.InstanceMapping: {"instance": _uuid, "cell": _uuid, "project": _uuid},
    kinds.RequestSpec: {"instance": _uuid, "flavor": _fact},
    kinds.BuildRequest: {"instance": _uuid, "project": _uuid},
    kinds.BlockDevice: {"instance": _uuid, "cell": _uuid, "volume": _uuid},
    kinds.Migration: {
        "uuid": _uuid, "cell": _uuid, "instance": _uuid, "source_host": _place,
        "source_node": _place, "target_host": _place, "target_node": _place,
    },
    kinds.ComputeNode: {
        "uuid": _uuid, "cell": _uuid, "host": _place, "node": _place, "address": _name,
    },
    kinds.ComputeService: {
        "uuid": _uuid, "cell": _uuid, "host": _place, "disabled_reason": _removed,
    },
    kinds.HostMapping: {"host": _place, "cell": _uuid},
    kinds.ServerGroup: {"uuid": _uuid, "members": _each(_uuid), "hosts": _each(_place)},
    kinds.HostAggregate: {
        "uuid": _uuid, "name": _name, "hosts": _each(_place), "metadata": _keyed(_kept, _name),
    },
    kinds.PciDevice: {
        "cell": _uuid, "instance": _uuid, "request_id": _uuid, "provider": _uuid,
    },
    kinds.PortRequestGroup: {"id": _uuid},
    kinds.Port: {
        "id": _uuid, "device": _uuid, "project": _uuid, "host": _place,
        "request_groups": _FACTS, "same_subtree": _each(_uuid),
        "allocation": _keyed(_uuid, _uuid), "profile": _address_only, "device_profile": _name,
    },
    kinds.Domain: {
        "uuid": _uuid, "host": _place, "name": _name, "project": _uuid, "flavor": _name,
        "mediated_devices": _each(_uuid),
    },
    kinds.DomainRecord: {
        "domain": _uuid, "host": _place, "xml": _removed, "disks": _each(_removed),
        "nvram": _removed,
    },
}  # fmt: skip

# Fields with text that does not identify a cloud.
KEPT: Mapping[type, frozenset[str]] = {
    kinds.Facts: frozenset({"traits_read", "server_groups"}),
    kinds.SourceStatus: frozenset({"read_via", "lag"}),
    # Only the lag of a cell, which has ages.
    Reason: frozenset({"name", "fields", "causes"}),
    kinds.Unread: frozenset({"table", "row", "column"}),
    kinds.Unsupported: frozenset({"what"}),
    kinds.Provider: frozenset({"inventories", "traits"}),
    kinds.LedgerFault: frozenset({"kind", "resource_class"}),
    kinds.Allocations: frozenset({"consumer_type"}),
    kinds.Flavor: frozenset({"extra_specs"}),
    kinds.PciRequest: frozenset({"alias", "numa_policy", "specs"}),
    kinds.NumaCell: frozenset({"cpu_policy", "thread_policy", "page_size"}),
    kinds.NumaTopology: frozenset({"emulator_threads_policy", "cells"}),
    kinds.AssignedResource: frozenset({"resource_class"}),
    kinds.Instance: frozenset(
        {"vm_state", "task_state", "peculiarities", "image_properties", "numa_topology"}
    ),
    kinds.BlockDevice: frozenset({"source", "destination", "guest_format"}),
    kinds.Migration: frozenset({"kind", "status"}),
    kinds.ComputeNode: frozenset({"hypervisor", "numa"}),
    kinds.HostTopology: frozenset({"cells"}),
    kinds.HostCell: frozenset({"shared", "dedicated", "pinned", "siblings", "pages"}),
    kinds.ComputeService: frozenset({"state"}),
    kinds.ServerGroup: frozenset({"policy"}),
    kinds.PciDevice: frozenset(
        {"address", "vendor", "product", "kind", "status", "parent_address", "parent_interface"}
    ),
    kinds.PortRequestGroup: frozenset({"required", "resources"}),
    kinds.Port: frozenset({"device_owner", "vnic_type", "vif_type"}),
    kinds.Domain: frozenset({"state", "host_devices"}),
}
