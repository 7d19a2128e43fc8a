# SPDX-License-Identifier: Apache-2.0
"""What an image requires of a hypervisor: architecture, type, mode, version. Pure.

PARITY: as nova.scheduler.filters.image_props_filter, with the other names of nova.objects.fields.
"""

import re
from collections.abc import Mapping

from trueup.reconcile.facts import SchedulerHost
from trueup.reconcile.scheduling.matching import capability

_ARCHITECTURES = {
    "x86_32": "i686",
    "i386": "i686",
    "i486": "i686",
    "i586": "i686",
    "amd64": "x86_64",
}
_HYPERVISORS = {"xapi": "xen", "powervm": "phyp"}
_MODES = {"pv": "xen", "hv": "hvm", "baremetal": "hvm"}
_PREDICATE = re.compile(r"^\s*(==|!=|<=|>=|<|>)\s*([\d.]+)\s*$")


def unsupported(image: Mapping[str, str], host: SchedulerHost, default_architecture: str) -> str:
    """What the host does not support of an image; empty if it supports everything."""
    asked = (
        _canonical(image.get("hw_architecture") or default_architecture, _ARCHITECTURES),
        _canonical(image.get("img_hv_type", ""), _HYPERVISORS),
        _canonical(image.get("hw_vm_mode", ""), _MODES),
    )
    wanted = [value for value in asked if value]
    if not wanted:
        return ""
    if not host.supported:
        return "does not report what it supports"
    if not any(all(value in row for value in wanted) for row in host.supported):
        known = "; ".join(" ".join(row) for row in host.supported)
        return f"supports {known}, not {' '.join(wanted)}"
    version = image.get("img_hv_requested_version", "")
    if version and not _satisfied(version, host.attributes.get("hypervisor_version") or 0):
        return (
            f"hypervisor {_dotted(host.attributes.get('hypervisor_version') or 0)}, not {version}"
        )
    bits = int(image.get("hw_maxphysaddr_bits") or 0)
    there = capability(host, ("cpu_info", "maxphysaddr", "bits"))
    return f"addresses of {there} bits, not {bits}" if bits and there and there < bits else ""


def _canonical(name: str, others: Mapping[str, str]) -> str:
    lower = name.lower()
    return others.get(lower, lower)


def _dotted(version: int) -> str:
    parts = []
    while version:
        version, part = divmod(version, 1000)
        parts.append(str(part))
    return ".".join(reversed(parts))


def _satisfied(wanted: str, version: int) -> bool:
    """Whether a version is in a range such as `>=6.0,<7.2`; 0: unknown. Raises ValueError."""
    if not version:
        return True
    compared = _parts(_dotted(version))
    for part in wanted.split(","):
        match = _PREDICATE.match(part)
        if match is None:
            raise ValueError(f"{part!r} is no range of versions")
        other = _parts(match[2])
        holds = {
            "==": compared == other,
            "!=": compared != other,
            "<=": compared <= other,
            ">=": compared >= other,
            "<": compared < other,
            ">": compared > other,
        }
        if not holds[match[1]]:
            return False
    return True


def _parts(text: str) -> list[int]:
    parts = [int(number) for number in text.split(".")]
    # 6.2 is 6.2.0.
    while parts and not parts[-1]:
        parts.pop()
    return parts
