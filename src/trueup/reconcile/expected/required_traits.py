# SPDX-License-Identifier: Apache-2.0
"""The traits that a flavor and an image require or forbid of a host.

PARITY: as `nova.scheduler.utils.ResourceRequest`; tests/differential/test_expected.py compares.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from trueup.reconcile.expected.cpus import is_true
from trueup.reconcile.expected.parts import Unknown
from trueup.reconcile.facts import Flavor
from trueup.reconcile.reasons import Reason, because

_KEY = re.compile(r"trait([a-zA-Z0-9_-]{1,64})?:(.*)")
_OF_IMAGE = "trait:"
_TPM = {"1.2": "COMPUTE_SECURITY_TPM_1_2", "2.0": "COMPUTE_SECURITY_TPM_2_0"}
_TPM_MODEL = {"tpm-tis": "COMPUTE_SECURITY_TPM_TIS", "tpm-crb": "COMPUTE_SECURITY_TPM_CRB"}
_ENCRYPTION = {
    "amd-sev": "HW_CPU_X86_AMD_SEV",
    "amd-sev-es": "HW_CPU_X86_AMD_SEV_ES",
    "amd-sev-snp": "HW_CPU_X86_AMD_SEV_SNP",
    "intel-tdx": "HW_CPU_X86_INTEL_TDX",
}


@dataclass(frozen=True, slots=True)
class _Setting:
    """A setting of flavors (`hw:name`) and images (`hw_name`), and the trait of each value.

    None: the value is allowed, and needs no trait.
    """

    name: str
    traits: Mapping[str, str | None]


_SETTINGS = (
    _Setting(
        "os:secure_boot",
        {"required": "COMPUTE_SECURITY_UEFI_SECURE_BOOT", "disabled": None, "optional": None},
    ),
    _Setting(
        "hw:maxphysaddr_mode",
        {
            "passthrough": "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
            "emulate": "COMPUTE_ADDRESS_SPACE_EMULATED",
        },
    ),
    _Setting(
        "hw:pci_numa_affinity_policy",
        {
            "socket": "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
            "required": None,
            "legacy": None,
            "preferred": None,
        },
    ),
)
_THREADS = "hw:cpu_thread_policy"
_THREAD_POLICIES = {"prefer": None, "isolate": None, "require": None}


@dataclass(eq=False)
class _Refused(Exception):
    """Nova refuses a server with this flavor and image."""

    reason: Reason


@dataclass(slots=True)
class TraitsOfGroup:
    """The traits that the provider of a request group must have, and must not have."""

    required: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)


def required_traits(
    flavor: Flavor, image: Mapping[str, str]
) -> Mapping[str, TraitsOfGroup] | Unknown:
    """The traits by suffix of the request group; Unknown if Nova refuses the combination."""
    groups: dict[str, TraitsOfGroup] = {"": TraitsOfGroup()}
    for key, value in flavor.extra_specs.items():
        match = _KEY.fullmatch(key)
        if match is not None and value in ("required", "forbidden"):
            group = groups.setdefault(match[1] or "", TraitsOfGroup())
            (group.required if value == "required" else group.forbidden).add(match[2])
    plain = groups[""]
    try:
        plain.required.update(_of_settings(flavor, image))
        _add_threads(plain, flavor, image)
    except _Refused as refused:
        return Unknown(refused.reason)
    plain.required.update(
        key.removeprefix(_OF_IMAGE)
        for key, value in image.items()
        if key.startswith(_OF_IMAGE) and value == "required"
    )
    return groups


def _of_settings(flavor: Flavor, image: Mapping[str, str]) -> Iterator[str]:
    specs = flavor.extra_specs
    for setting in _SETTINGS:
        value = _chosen(setting.name, setting.traits, specs, image)
        trait = setting.traits[value] if value else None
        if trait:
            yield trait
    version = _chosen("hw:tpm_version", _TPM, specs, image)
    if version:
        yield _TPM[version]
        yield _TPM_MODEL[_chosen("hw:tpm_model", _TPM_MODEL, specs, image) or "tpm-tis"]
    if is_true(specs.get("hw:mem_encryption")) or is_true(image.get("hw_mem_encryption")):
        yield _ENCRYPTION[
            _chosen("hw:mem_encryption_model", _ENCRYPTION, specs, image) or "amd-sev"
        ]
    if image.get("hw_firmware_type") == "uefi" and is_true(image.get("hw_firmware_stateless")):
        yield "COMPUTE_SECURITY_STATELESS_FIRMWARE"


def _add_threads(group: TraitsOfGroup, flavor: Flavor, image: Mapping[str, str]) -> None:
    """The thread policy: an image may only set it where the flavor prefers nothing else."""
    by_image = image.get("hw_cpu_thread_policy")
    specs = flavor.extra_specs
    if specs.get(_THREADS) == "prefer" and by_image:
        specs = {_THREADS: by_image}
    policy = _chosen(_THREADS, _THREAD_POLICIES, specs, image)
    if policy == "isolate":
        group.forbidden.add("HW_CPU_HYPERTHREADING")
    elif policy == "require":
        group.required.add("HW_CPU_HYPERTHREADING")


def _chosen(
    name: str, allowed: Mapping[str, object], specs: Mapping[str, str], image: Mapping[str, str]
) -> str | None:
    """The value in flavor or image; both may have it if they agree. Raises _Refused."""
    by_flavor = specs.get(name) or None
    by_image = image.get(name.replace(":", "_")) or None
    if by_flavor and by_image and by_flavor != by_image:
        raise _Refused(
            because("flavor-image-differ", property=name, by_flavor=by_flavor, by_image=by_image)
        )
    value = by_flavor or by_image
    if value is not None and value not in allowed:
        raise _Refused(
            because("property-unknown", property=name, value=value, allowed=tuple(allowed))
        )
    return value
