# SPDX-License-Identifier: Apache-2.0
"""The query: what Nova's scheduler asks Placement for a request. Pure.

PARITY: as nova.scheduler.request_filter; tests/differential/test_scheduler_query.py compares.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.expected import Demands, Unknown, candidate_query, required_traits
from trueup.reconcile.facts import (
    HostAggregate,
    ScheduleRequest,
    SchedulerHost,
    SchedulerOptions,
)
from trueup.reconcile.reasons import Reason, because

# Since this version nova-compute reports the trait. Before all have it, no query requires it.
_OWNER_SINCE = 73
# Image properties whose values each have a trait, and the prefix of that trait.
_IMAGE_TRAITS = {
    "hw_cdrom_bus": "COMPUTE_STORAGE_BUS",
    "hw_disk_bus": "COMPUTE_STORAGE_BUS",
    "hw_video_model": "COMPUTE_GRAPHICS_MODEL",
    "hw_vif_model": "COMPUTE_NET_VIF_MODEL",
    "hw_architecture": "HW_ARCH",
    "hw_emulation_architecture": "COMPUTE_ARCH",
    "hw_viommu_model": "COMPUTE_VIOMMU",
}
_OWNER_KEY = "filter_tenant_id"
_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})


@dataclass(eq=False)
class Refused(Exception):
    """Nova refuses the request before it asks Placement."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Query:
    """The query; with `fallback` Nova asks a second time, for VCPU in place of PCPU.

    `limited`: it asks for a limited number of candidates. `open` says what else it may ask for,
    which Nova's databases do not show.
    """

    text: str
    fallback: str | None
    limited: bool
    open: tuple[str, ...]


def query_of(
    request: ScheduleRequest,
    options: SchedulerOptions,
    aggregates: Iterable[HostAggregate],
    hosts: Iterable[SchedulerHost],
) -> Query:
    """The query. Raises Refused."""
    demands = _demands(request, options, tuple(aggregates), tuple(hosts))
    flavor, by_volume = request.flavor, request.volume_backed

    def asked(pinning: bool) -> str:
        found = candidate_query(
            flavor, request.image, volume_backed=by_volume, demands=demands, pinning=pinning
        )
        if isinstance(found, Unknown):
            raise Refused(found.reason)
        return found

    text = asked(pinning=True)
    policies = (flavor.extra_specs.get("hw:cpu_policy"), request.image.get("hw_cpu_policy"))
    dedicated = "dedicated" in policies and not options.disable_fallback_pcpu_query
    hinted = {"group", "same_host", "different_host"} & request.hints.keys()
    return Query(
        text=text,
        fallback=asked(pinning=False) if dedicated else None,
        limited=not hinted,
        open=tuple(_open(request, options)),
    )


def _demands(
    request: ScheduleRequest,
    options: SchedulerOptions,
    aggregates: tuple[HostAggregate, ...],
    hosts: tuple[SchedulerHost, ...],
) -> Demands:
    member_of = []
    if options.limit_tenants_to_placement_aggregate:
        owned = [
            aggregate.uuid for aggregate in aggregates if _is_owned(aggregate, request.project)
        ]
        if not owned and options.placement_aggregate_required_for_tenants:
            raise Refused(because("project-without-aggregate", project=request.project))
        member_of.append(owned)
    if request.zone:
        member_of.append(
            [aggregate.uuid for aggregate in aggregates if _in_zone(aggregate, request.zone)]
        )
    nodes = [host.uuid for host in hosts if _is_forced(host, request)]
    if (request.forced_hosts or request.forced_nodes) and not nodes:
        named = (*request.forced_hosts, *request.forced_nodes)
        raise Refused(because("forced-host-missing", hosts=named))
    return Demands(
        root_required=frozenset(
            (*_traits_of_settings(request, options), *_traits_of_hardware(request, hosts))
        ),
        member_of=tuple(tuple(sorted(uuids)) for uuids in member_of if uuids),
        not_member_of=tuple(sorted(_isolated(request, options, aggregates))),
        in_tree=nodes[0] if len(nodes) == 1 else None,
        ports=request.ports or (),
    )


def _is_owned(aggregate: HostAggregate, project: str) -> bool:
    keys = (key for key, value in aggregate.metadata.items() if value == project)
    return any(key.startswith(_OWNER_KEY) for key in keys)


def _in_zone(aggregate: HostAggregate, zone: str) -> bool:
    return aggregate.metadata.get("availability_zone") == zone


def _is_forced(host: SchedulerHost, request: ScheduleRequest) -> bool:
    """Whether a host is the first forced host, and the first forced node: Nova asks for these."""
    by_host = not request.forced_hosts or host.host == request.forced_hosts[0]
    by_node = not request.forced_nodes or host.node == request.forced_nodes[0]
    return bool(request.forced_hosts or request.forced_nodes) and by_host and by_node


def _isolated(
    request: ScheduleRequest, options: SchedulerOptions, aggregates: Iterable[HostAggregate]
) -> Iterator[str]:
    """The aggregates that require a trait that the request does not ask for."""
    if not options.enable_isolated_aggregate_filtering:
        return
    groups = required_traits(request.flavor, request.image)
    if isinstance(groups, Unknown):
        raise Refused(groups.reason)
    asked = {f"trait:{name}" for group in groups.values() for name in group.required}
    for aggregate in aggregates:
        keys = {
            k
            for k, value in aggregate.metadata.items()
            if k.startswith("trait:") and value == "required"
        }
        if keys - asked:
            yield aggregate.uuid


def _traits_of_settings(request: ScheduleRequest, options: SchedulerOptions) -> Iterator[str]:
    if options.query_placement_for_image_type_support and not request.volume_backed:
        yield f"COMPUTE_IMAGE_TYPE_{request.disk_format.upper()}"
    if options.image_metadata_prefilter:
        for name, prefix in _IMAGE_TRAITS.items():
            if name in request.image:
                yield f"{prefix}_{request.image[name].replace('-', '_').upper()}"


def _traits_of_hardware(request: ScheduleRequest, hosts: Iterable[SchedulerHost]) -> Iterator[str]:
    specs, image = request.flavor.extra_specs, request.image
    services = (host.service for host in hosts)
    versions = [service.version for service in services if service and not service.forced_down]
    if min(versions, default=0) >= _OWNER_SINCE:
        yield "OWNER_NOVA"
    if specs.get("accel:device_profile"):
        yield "COMPUTE_ACCELERATORS"
    if _asks(specs, image, "virtio_packed_ring"):
        yield "COMPUTE_NET_VIRTIO_PACKED"
    if _asks(specs, image, "ephemeral_encryption"):
        yield "COMPUTE_EPHEMERAL_ENCRYPTION"
        if kind := _either(specs, image, "ephemeral_encryption_format"):
            yield f"COMPUTE_EPHEMERAL_ENCRYPTION_{kind.upper()}"
    if _either(specs, image, "sound_model") == "virtio":
        yield "COMPUTE_SOUND_MODEL_VIRTIO"
    # We assume that the scheduler is as new as the newest nova-compute.
    if max(versions, default=0) >= _OWNER_SINCE and _either(specs, image, "tpm_version"):
        security = specs.get("hw:tpm_secret_security") or "user"
        yield f"COMPUTE_SECURITY_TPM_SECRET_SECURITY_{security.upper()}"


def _either(specs: Mapping[str, str], image: Mapping[str, str], name: str) -> str:
    return specs.get(f"hw:{name}") or image.get(f"hw_{name}") or ""


def _asks(specs: Mapping[str, str], image: Mapping[str, str], name: str) -> bool:
    return _either(specs, image, name).strip().lower() in _TRUE


def _open(request: ScheduleRequest, options: SchedulerOptions) -> Iterator[str]:
    if request.ports is None:
        yield "what its ports ask for (minimum bandwidth, packet rate)"
    elif any(port.device_profile for port in request.ports):
        yield "the devices of its ports, which Cyborg has"
    if options.query_placement_for_routed_network_aggregates:
        yield "the aggregates of the segments of its networks"
    if request.devices and options.pci_in_placement:
        yield "the resources of its PCI devices"
    if request.flavor.extra_specs.get("accel:device_profile"):
        yield "the resources of its device profile, which Cyborg has"
