# SPDX-License-Identifier: Apache-2.0
"""Nova's filters: each says what a host lacks for a request, or nothing. Pure.

PARITY: as the classes of nova.scheduler.filters with these names;
tests/differential/test_scheduler_filters.py compares.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from trueup.reconcile.facts import ScheduleRequest, SchedulerHost, SchedulerOptions
from trueup.reconcile.scheduling.aggregates import least, values, words
from trueup.reconcile.scheduling.devices import devices_lack
from trueup.reconcile.scheduling.image import unsupported
from trueup.reconcile.scheduling.matching import capability, has_capability, matches
from trueup.reconcile.scheduling.numa import HostCells


@dataclass(frozen=True, slots=True)
class Open:
    """Whether a host passes is not known here, and why not."""

    why: str


# What a host lacks for a request; empty: it passes.
Filter = Callable[[ScheduleRequest, SchedulerHost, SchedulerOptions], str | Open]
_OWNER_KEY = "filter_tenant_id"
_MAPPING = "it depends on the devices that Placement gives"


def compute(now: datetime) -> Filter:
    """The filter of services that are up; it needs the time."""

    def lacks(_: ScheduleRequest, host: SchedulerHost, __: SchedulerOptions) -> str:
        service = host.service
        if service is None or service.disabled:
            why = f": {service.disabled_reason}" if service and service.disabled_reason else ""
            return f"its service is disabled{why}"
        return "" if service.is_up(now) else "its service is down"

    return lacks


def _capabilities(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    specs = dict(request.flavor.extra_specs)
    if (bits := specs.pop("hw:maxphysaddr_bits", None)) is not None:
        specs["capabilities:cpu_info:maxphysaddr:bits"] = f">= {bits}"
    for key, wanted in specs.items():
        path = key.split(":")
        if len(path) > 1 and path.pop(0) != "capabilities":
            continue
        if key == path[0] and not has_capability(host, key):
            continue
        found = capability(host, path)
        if found is None:
            return f"{':'.join(path)} is not known, and the flavor asks for {wanted}"
        if not matches(str(found), wanted):
            return f"{':'.join(path)} is {found}, and the flavor asks for {wanted}"
    return ""


def _image(request: ScheduleRequest, host: SchedulerHost, options: SchedulerOptions) -> str:
    return unsupported(request.image, host, options.image_properties_default_architecture)


def _anti_affinity(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    group = request.group
    if group is None or group.policy != "anti-affinity" or request.instance in host.instances:
        return ""
    there = len(group.members & host.instances)
    return f"has {there} of its server group" if there >= group.max_per_host else ""


def _affinity(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    group = request.group
    if group is None or group.policy != "affinity" or not group.hosts:
        return ""
    others = ", ".join(sorted(group.hosts))
    return "" if host.host in group.hosts else f"its server group is on {others}"


def _different_host(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    there = host.instances & {*request.hints.get("different_host", ())}
    return f"has {', '.join(sorted(there))} of different_host" if there else ""


def _same_host(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    wanted = {*request.hints.get("same_host", ())}
    return "" if not wanted or host.instances & wanted else "has none of same_host"


def _aggregate_specs(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    found = words(host)
    for key, wanted in request.flavor.extra_specs.items():
        scope, colon, name = key.partition(":")
        if colon and scope != "aggregate_instance_extra_specs":
            continue
        name = name if colon else key
        if not found.get(name):
            return f"no aggregate has {name}"
        if not any(matches(value, wanted) for value in found[name]):
            return f"{name} of its aggregates is {', '.join(sorted(found[name]))}, not {wanted}"
    return ""


def _aggregate_image(
    request: ScheduleRequest, host: SchedulerHost, options: SchedulerOptions
) -> str:
    prefix = options.aggregate_image_properties_isolation_namespace
    prefix += options.aggregate_image_properties_isolation_separator if prefix else ""
    for key, allowed in words(host).items():
        value = request.image.get(key) if key.startswith(prefix) else None
        if value and value not in allowed:
            return f"{key} of its aggregates is {', '.join(sorted(allowed))}, not {value}"
    return ""


def _aggregate_owner(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    found = words(host).items()
    owners = {value for key, allowed in found if key.startswith(_OWNER_KEY) for value in allowed}
    return (
        "an aggregate is for other projects"
        if owners - {request.project} == owners != set()
        else ""
    )


def _aggregate_flavor(request: ScheduleRequest, host: SchedulerHost, _: SchedulerOptions) -> str:
    lists = values(host, "instance_type")
    names = {name.strip() for text in lists for name in text.split(",")}
    others = ", ".join(sorted(names))
    return "" if not lists or request.flavor.name in names else f"an aggregate is for {others}"


def _zone(request: ScheduleRequest, host: SchedulerHost, options: SchedulerOptions) -> str:
    if not request.zone:
        return ""
    zones = words(host).get("availability_zone") or {options.default_availability_zone}
    return "" if request.zone in zones else f"in the zone {', '.join(sorted(zones))}"


def _isolated(request: ScheduleRequest, host: SchedulerHost, options: SchedulerOptions) -> str:
    of_host = host.host in options.isolated_hosts
    of_image = request.image_id in options.isolated_images
    strict = options.restrict_isolated_hosts_to_isolated_images
    if of_image and not of_host:
        return "the image is only for isolated hosts"
    return "isolated, and the image is not" if strict and of_host and not of_image else ""


def _number(host: SchedulerHost, name: str) -> int:
    return int(host.stats.get(name) or 0)


def _instances(limit: Callable[[SchedulerHost, SchedulerOptions], int]) -> Filter:
    def lacks(_: ScheduleRequest, host: SchedulerHost, options: SchedulerOptions) -> str:
        there, most = _number(host, "num_instances"), limit(host, options)
        return "" if there < most else f"{there} instances, of {most} at most"

    return lacks


def _io_ops(limit: Callable[[SchedulerHost, SchedulerOptions], int]) -> Filter:
    def lacks(_: ScheduleRequest, host: SchedulerHost, options: SchedulerOptions) -> str:
        there, most = _number(host, "io_workload"), limit(host, options)
        return "" if there < most else f"{there} builds and moves, of {most} at most"

    return lacks


def _numa(request: ScheduleRequest, host: SchedulerHost, options: SchedulerOptions) -> str | Open:
    cells = host.numa.cells if host.numa else ()
    if request.numa is None:
        return ""
    if cells is None:
        return Open("a NUMA topology cannot be read")
    if not cells:
        return "reports no NUMA cells"
    if _needs_threads(request) and not any(len(core) > 1 for cell in cells for core in cell.cores):
        return "has no CPU threads, and the thread policy is require"
    cpu_ratio, ram_ratio = map(
        host.attributes.get, ("cpu_allocation_ratio", "ram_allocation_ratio")
    )
    if not (cpu_ratio and ram_ratio):
        return Open("nova-compute has not reported the allocation ratios")
    fit = HostCells(cells, cpu_ratio, ram_ratio).fit(request.numa)
    if fit.lack:
        return fit.lack
    without = [_devices_near(request, host, near, options) for near in fit.places]
    if fit.places and all(isinstance(lack, str) and lack for lack in without):
        return str(without[0])
    if fit.open or "" not in without:
        return Open(fit.open or _MAPPING)
    if any(cell.networks for cell in cells):
        return Open("it depends on the physical networks of the ports")
    return ""


def _needs_threads(request: ScheduleRequest) -> bool:
    specs, image = request.flavor.extra_specs, request.image
    policies = (specs.get("hw:cpu_policy"), image.get("hw_cpu_policy"))
    threads = (specs.get("hw:cpu_thread_policy"), image.get("hw_cpu_thread_policy"))
    return "dedicated" in policies and "require" in threads


def _devices(
    request: ScheduleRequest, host: SchedulerHost, options: SchedulerOptions
) -> str | Open:
    return _devices_near(request, host, frozenset(), options)


def _devices_near(
    request: ScheduleRequest, host: SchedulerHost, near: frozenset[int], options: SchedulerOptions
) -> str | Open:
    """What devices the host lacks, near these cells."""
    if not request.devices:
        return ""
    if host.pools is None:
        return Open("PCI devices cannot be read")
    cells = (host.numa.cells if host.numa else None) or ()
    if not options.pci_in_placement or all(row.alias is None for row in request.devices):
        return devices_lack(request.devices, host.pools, near, cells)
    # Placement chose the provider of each: no request can use more than all free devices.
    lacks = (devices_lack([row], host.pools, near, cells) for row in request.devices)
    return next(filter(None, lacks), Open(_MAPPING))


def _passes(_: ScheduleRequest, __: SchedulerHost, ___: SchedulerOptions) -> str:
    return ""


def _unread(_: ScheduleRequest, __: SchedulerHost, ___: SchedulerOptions) -> Open:
    return Open("Trueup does not read what the new flavor asks for")


def _unknown(_: ScheduleRequest, __: SchedulerHost, ___: SchedulerOptions) -> Open:
    return Open("Trueup does not know this filter")


# All but ComputeFilter, which needs the time.
FILTERS: Mapping[str, Filter] = {
    "AllHostsFilter": _passes,
    "ComputeCapabilitiesFilter": _capabilities,
    "ImagePropertiesFilter": _image,
    "ServerGroupAntiAffinityFilter": _anti_affinity,
    "ServerGroupAffinityFilter": _affinity,
    "DifferentHostFilter": _different_host,
    "SameHostFilter": _same_host,
    "AggregateInstanceExtraSpecsFilter": _aggregate_specs,
    "AggregateImagePropertiesIsolation": _aggregate_image,
    "AggregateMultiTenancyIsolation": _aggregate_owner,
    "AggregateTypeAffinityFilter": _aggregate_flavor,
    "AvailabilityZoneFilter": _zone,
    "IsolatedHostsFilter": _isolated,
    "NumInstancesFilter": _instances(lambda _, options: options.max_instances_per_host),
    "AggregateNumInstancesFilter": _instances(
        lambda host, options: least(host, "max_instances_per_host", options.max_instances_per_host)
    ),
    "IoOpsFilter": _io_ops(lambda _, options: options.max_io_ops_per_host),
    "AggregateIoOpsFilter": _io_ops(
        lambda host, options: least(host, "max_io_ops_per_host", options.max_io_ops_per_host)
    ),
    "NUMATopologyFilter": _numa,
    "PciPassthroughFilter": _devices,
}
# What these filters look for: a request without any of it passes them.
_ONLY_IF: Mapping[str, Callable[[ScheduleRequest], bool]] = {
    "SimpleCIDRAffinityFilter": lambda request: "build_near_host_ip" in request.hints,
    "JsonFilter": lambda request: "query" in request.hints,
}


def filter_named(name: str, request: ScheduleRequest, now: datetime) -> Filter:
    """The filter with this name."""
    if name == "ComputeFilter":
        return compute(now)
    if name in _ONLY_IF and not _ONLY_IF[name](request):
        return _passes
    return FILTERS.get(name, _unknown) if name not in request.unread else _unread
