# SPDX-License-Identifier: Apache-2.0
"""Nova's filters: each says what a host lacks for a request, or nothing. Pure.

PARITY: as the classes of nova.scheduler.filters with these names;
tests/differential/test_scheduler_filters.py compares.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from trueup.reconcile.facts import ScheduleRequest, SchedulerHost, SchedulerOptions
from trueup.reconcile.scheduling.aggregates import least, values, words
from trueup.reconcile.scheduling.image import unsupported
from trueup.reconcile.scheduling.matching import capability, has_capability, matches

# What a host lacks for a request; empty: it passes.
Filter = Callable[[ScheduleRequest, SchedulerHost, SchedulerOptions], str]
_OWNER_KEY = "filter_tenant_id"


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
        "an aggregate is of other projects" if owners - {request.project} == owners != set() else ""
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


def _passes(_: ScheduleRequest, __: SchedulerHost, ___: SchedulerOptions) -> str:
    return ""


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
}
# What these filters look for: a request without any of it passes them.
_ONLY_IF: Mapping[str, Callable[[ScheduleRequest], bool]] = {
    "NUMATopologyFilter": lambda request: request.numa,
    "PciPassthroughFilter": lambda request: request.pci,
    "SimpleCIDRAffinityFilter": lambda request: "build_near_host_ip" in request.hints,
    "JsonFilter": lambda request: "query" in request.hints,
}


def filter_named(name: str, request: ScheduleRequest, now: datetime) -> Filter | None:
    """The filter with this name; None: its effect on this request is not known here."""
    if name == "ComputeFilter":
        return compute(now)
    if name in _ONLY_IF and not _ONLY_IF[name](request):
        return _passes
    return FILTERS.get(name)
