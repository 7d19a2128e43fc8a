# SPDX-License-Identifier: Apache-2.0
"""What is counted: a flavor or plain amounts as the request that Nova's scheduler makes of it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import parse_qsl

from trueup.capacity.ledger import traits_of
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.api.errors import Refused
from trueup.placement.api.versions import NEWEST
from trueup.placement.api.wire import candidates
from trueup.reconcile.expected import Unknown, candidate_query
from trueup.reconcile.facts import (
    DISABLED_TRAIT,
    JUDGED_TRAITS,
    PLACEMENT,
    Facts,
    Flavor,
    Instance,
    NumaTopology,
)
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.scheduling.numa import topology_of

_ALIAS, _PROFILE = "pci_passthrough:alias", "accel:device_profile"
# Compared with what a host reports of itself (ComputeCapabilitiesFilter).
_CAPABILITIES = ("capabilities:", "hw:maxphysaddr_bits")
# Compared with the metadata of aggregates (AggregateInstanceExtraSpecsFilter), as are keys without
# a scope; these two have another meaning.
_AGGREGATE_SPECS = "aggregate_instance_extra_specs:"
_WITHOUT_SCOPE = ("group_policy", "hide_hypervisor_id")
_KEPT_FOR = ("filter_tenant_id", "instance_type", "trait:")
NUMA_TOPOLOGIES = "NUMA topologies"


class Gap(StrEnum):
    """Unknown conditions that may keep a server from a host: fewer may fit than the count says."""

    PCI_ALIAS = "pci-alias"
    DEVICE_PROFILE = "device-profile"
    NUMA_NOT_READ = "numa-not-read"
    TRAITS_NOT_READ = "traits-not-read"
    HOST_CAPABILITIES = "host-capabilities"
    AGGREGATE_SPECS = "aggregate-specs"
    AGGREGATE_OWNERS = "aggregate-owners"


@dataclass(frozen=True, slots=True)
class Asked:
    """A kind of server to count: its request, and what it needs of the NUMA cells of a host."""

    name: str
    request: CandidateRequest
    numa: NumaTopology | None = None
    gaps: frozenset[Gap] = frozenset()


@dataclass(frozen=True, slots=True)
class NotAskable:
    """A flavor with which no server can be made, and why."""

    name: str
    reason: Reason


def asked_of(
    flavor: Flavor, image: Mapping[str, str], *, volume_backed: bool = False
) -> Asked | NotAskable:
    """A server with this flavor and the properties of this image."""
    query = candidate_query(flavor, image, volume_backed=volume_backed)
    if isinstance(query, Unknown):
        return NotAskable(flavor.name, query.reason)
    try:
        request = candidates.parse(parse_qsl(query, keep_blank_values=True), NEWEST)
    except Refused as refused:
        # The lines after the first are the schema of the whole query.
        said = refused.detail.partition("\n")[0].removesuffix(".")
        return NotAskable(flavor.name, because("placement-refuses-flavor", error=said))
    topology = topology_of(flavor, image)
    if isinstance(topology, Unknown):
        return NotAskable(flavor.name, topology.reason)
    return Asked(flavor.name, request, topology, frozenset(_gaps(flavor)))


def asked_of_instance(instance: Instance) -> Asked | NotAskable:
    """The server that an instance would be on another host."""
    if instance.flavor is None:
        return NotAskable(instance.name, because("flavor-unreadable"))
    found = asked_of(
        instance.flavor,
        instance.image_properties or {},
        volume_backed=bool(instance.volume_backed),
    )
    if isinstance(found, NotAskable) or instance.numa_topology is None:
        return found
    cells = instance.numa_topology.cells
    if cells is None:
        return NotAskable(instance.name, because("numa-unreadable"))
    # The resources it was given are more exact than its flavor and image now.
    pages = found.numa.cells[0].page_size if found.numa and found.numa.cells else None
    cells = tuple(replace(cell, page_size=pages) for cell in cells)
    return replace(found, numa=replace(instance.numa_topology, cells=cells))


def asked_of_each(servers: Iterable[Instance], facts: Facts) -> dict[str, Asked | NotAskable]:
    """By uuid: the server that each would be on another host, as far as the facts say.

    PERF: thousands of servers have the same flavor and image; each pair is asked for once.
    """
    known: dict[object, Asked | NotAskable] = {}
    found = {}
    for row in servers:
        if row.numa_topology is not None:
            found[row.uuid] = as_far_as_read(asked_of_instance(row), facts)
            continue
        image = frozenset((row.image_properties or {}).items())
        key = (row.flavor, image, row.volume_backed, None if row.flavor else row.name)
        if key not in known:
            known[key] = as_far_as_read(asked_of_instance(row), facts)
        found[row.uuid] = known[key]
    return found


def asked_of_amounts(amounts: Mapping[str, int], traits: Iterable[str] = ()) -> Asked:
    """Plain amounts, and the traits that the host must have."""
    words = ",".join((*(f"{name}={amount}" for name, amount in amounts.items()), *traits))
    group = RequestGroup(
        resources=tuple(amounts.items()), required=tuple(frozenset({trait}) for trait in traits)
    )
    disabled = frozenset({DISABLED_TRAIT})
    return Asked(words, CandidateRequest((group,), root_forbidden=disabled))


def flavors_in_use(facts: Facts) -> tuple[Flavor, ...]:
    """The flavors of living instances, by name; of several with one name that of most."""
    found: dict[str, Counter[Flavor]] = defaultdict(Counter)
    for row in facts.alive.values():
        if row.flavor is not None:
            found[row.flavor.name][row.flavor] += 1
    return tuple(found[name].most_common(1)[0][0] for name in sorted(found))


def _gaps(flavor: Flavor) -> Iterable[Gap]:
    specs = flavor.extra_specs
    if specs.get(_ALIAS):
        yield Gap.PCI_ALIAS
    if specs.get(_PROFILE):
        yield Gap.DEVICE_PROFILE
    if any(key.startswith(_CAPABILITIES) for key in specs):
        yield Gap.HOST_CAPABILITIES
    if any(
        key.startswith(_AGGREGATE_SPECS) or (":" not in key and key not in _WITHOUT_SCOPE)
        for key in specs
    ):
        yield Gap.AGGREGATE_SPECS


def traits_wanted(kinds: Iterable[Asked | NotAskable]) -> frozenset[str]:
    """The traits of these requests that are not read over Placement's API of a whole cloud."""
    requests = (kind.request for kind in kinds if isinstance(kind, Asked))
    return frozenset[str]().union(*map(traits_of, requests)) - frozenset(JUDGED_TRAITS)


def has_few_traits(facts: Facts) -> bool:
    """Whether providers have only those of their traits that were asked for."""
    return any(row.source == PLACEMENT and row.read_via == "API" for row in facts.coverage.sources)


def as_far_as_read(asked: Asked | NotAskable, facts: Facts) -> Asked | NotAskable:
    """The same server, without the traits of which it was not read which providers have them.

    Every host then counts as one that suits, and the gap says that fewer may fit.
    """
    unread = traits_wanted([asked]) - facts.traits_read if facts.once(has_few_traits) else None
    if not unread or isinstance(asked, NotAskable):
        return asked
    request = replace(
        asked.request,
        groups=tuple(_without(group, unread) for group in asked.request.groups),
        root_required=asked.request.root_required - unread,
        root_forbidden=asked.request.root_forbidden - unread,
    )
    return replace(asked, request=request, gaps=asked.gaps | {Gap.TRAITS_NOT_READ})


def _without(group: RequestGroup, unread: frozenset[str]) -> RequestGroup:
    required = tuple(any_of for any_of in group.required if not any_of & unread)
    return replace(group, required=required, forbidden=group.forbidden - unread)


def gaps_of(asked: Asked, facts: Facts) -> frozenset[Gap]:
    """What this kind of server needs and is not known, also because this cloud does not say it."""
    gaps = {*asked.gaps}
    if asked.numa is not None and not facts.has(NUMA_TOPOLOGIES):
        gaps.add(Gap.NUMA_NOT_READ)
    if facts.once(_kept_for_some):
        gaps.add(Gap.AGGREGATE_OWNERS)
    return frozenset(gaps)


def _kept_for_some(facts: Facts) -> bool:
    """Whether an aggregate with hosts may be kept for some projects, flavors or traits.

    PARITY: by AggregateMultiTenancyIsolation, AggregateTypeAffinityFilter, and the prefilters for
    tenants and for isolated aggregates. Whether Nova uses these is in its nova.conf.
    """
    rows = (row for row in facts.host_aggregates if row.hosts)
    return any(key.startswith(_KEPT_FOR) for row in rows for key in row.metadata)
