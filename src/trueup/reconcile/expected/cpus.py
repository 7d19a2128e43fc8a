# SPDX-License-Identifier: Apache-2.0
"""VCPU and PCPU: which CPUs of an instance are dedicated, according to flavor and image."""

from collections.abc import Mapping
from dataclasses import dataclass

from trueup.reconcile.expected.parts import ExpectedAllocation, Unknown
from trueup.reconcile.facts import Amounts, Flavor, Instance
from trueup.reconcile.reasons import Reason, because

_POLICIES = ("dedicated", "mixed", "shared")
# PARITY: the image's policy may not contradict the flavor's, except that a flavor with dedicated
# CPUs overrides any image (nova.virt.hardware, get_cpu_policy_constraint).
_CONTRADICTIONS = {("mixed", "dedicated"), ("shared", "mixed"), ("shared", "dedicated")}
_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})


def is_true(word: str | None) -> bool:
    """Whether OpenStack reads this extra spec or image property as true."""
    return word is not None and word.strip().lower() in _TRUE


@dataclass(frozen=True, slots=True)
class CpuPolicy:
    """The CPU policy of a server, its dedicated CPUs by number, and the policy of its emulator."""

    name: str | None
    dedicated: frozenset[int] = frozenset()
    emulator: str | None = None


def cpu_policy(flavor: Flavor, image: Mapping[str, str]) -> CpuPolicy | Unknown:
    """The CPU policy that flavor and image ask for."""
    policy = _policy(flavor, image)
    if isinstance(policy, Unknown):
        return policy
    if policy not in ("dedicated", "mixed"):
        return CpuPolicy(policy)
    emulator = flavor.extra_specs.get("hw:emulator_threads_policy") or None
    if emulator not in (None, "isolate", "share"):
        return Unknown(because("emulator-policy-unknown", policy=emulator))
    if policy == "dedicated":
        return CpuPolicy(policy, frozenset(range(flavor.vcpus)), emulator)
    pinned = _pinned_of_mixed(flavor, image)
    return pinned if isinstance(pinned, Unknown) else CpuPolicy(policy, pinned, emulator)


def dedicated_cpus(flavor: Flavor, image: Mapping[str, str]) -> Mapping[str, int] | Unknown:
    """The VCPU and PCPU amounts that the CPU policy requests; empty if all CPUs are shared.

    With policy `dedicated` there is only PCPU, with `mixed` both. Isolated emulator threads add one
    PCPU.
    """
    policy = cpu_policy(flavor, image)
    if isinstance(policy, Unknown):
        return policy
    if policy.name not in ("dedicated", "mixed"):
        return {}
    pinned = {"PCPU": len(policy.dedicated) + (policy.emulator == "isolate")}
    if policy.name == "dedicated":
        return pinned
    return {"VCPU": flavor.vcpus - len(policy.dedicated)} | pinned


def pinned_otherwise(instance: Instance, wanted: ExpectedAllocation) -> Reason | None:
    """Why its guest has, or may have, dedicated processors that neither flavor nor image requests.

    None if it has no such processors. SAFETY: the guest uses them, whatever flavor and image say.
    """
    topology = instance.numa_topology
    if topology is None or any("PCPU" in held for held in wanted.known.values()):
        return None
    if instance.flavor and dedicated_cpus(instance.flavor, instance.image_properties or {}):
        return None
    if topology.cells is None:
        return because("topology-unreadable")
    return because("pinned-unasked") if any(cell.pinned for cell in topology.cells) else None


def emulator_not_counted(
    instance: Instance, held: Amounts, wanted: ExpectedAllocation
) -> Reason | None:
    """Why it may rightly lack the PCPU of its isolated emulator threads; None if it may not.

    PARITY: Train's nova-compute turned the VCPU of such an instance into as many PCPU, and nothing
    in Nova corrects that (nova.virt.libvirt.driver, _update_provider_tree_for_pcpu).
    """
    flavor = instance.flavor
    if flavor is None or _pcpu(held) != flavor.vcpus or _pcpu(wanted.known) != flavor.vcpus + 1:
        return None
    asked = dedicated_cpus(flavor, instance.image_properties or {})
    return because("emulator-not-counted") if asked == {"PCPU": flavor.vcpus + 1} else None


def _pcpu(amounts: Amounts) -> int:
    return sum(held.get("PCPU", 0) for held in amounts.values())


def _policy(flavor: Flavor, image: Mapping[str, str]) -> str | Unknown | None:
    wanted = flavor.extra_specs.get("hw:cpu_policy") or None
    by_image = image.get("hw_cpu_policy") or None
    for word in (wanted, by_image):
        if word is not None and word not in _POLICIES:
            return Unknown(because("cpu-policy-unknown", policy=word))
    if (wanted, by_image) in _CONTRADICTIONS:
        return Unknown(because("cpu-policies-contradict", flavor=wanted, image=by_image))
    return wanted or by_image


def _pinned_of_mixed(flavor: Flavor, image: Mapping[str, str]) -> frozenset[int] | Unknown:
    specs = flavor.extra_specs
    if mask := specs.get("hw:cpu_dedicated_mask"):
        return _masked(mask, flavor.vcpus)
    if not is_true(specs.get("hw:cpu_realtime")):
        return frozenset()
    # An image's mask takes precedence over the flavor's.
    mask = image.get("hw_cpu_realtime_mask") or specs.get("hw:cpu_realtime_mask")
    return _masked(mask, flavor.vcpus) if mask else frozenset(range(flavor.vcpus))


def _masked(mask: str, count: int) -> frozenset[int] | Unknown:
    """The CPUs in a mask such as `2-5,^3`; a part that begins with ^ excludes CPUs."""
    text = f"0-{count - 1},{mask}" if mask.strip().startswith("^") else mask
    try:
        chosen = cpu_set(text)
    except ValueError:
        return Unknown(because("cpu-mask-unreadable", mask=mask))
    if not chosen or not chosen <= set(range(count)):
        return Unknown(because("cpu-mask-beyond", mask=mask, cpus=count))
    return chosen


def cpu_set(text: str) -> frozenset[int]:
    """The CPUs in a text such as `0,2-5,^3`. Raises ValueError."""
    named: set[int] = set()
    taken: set[int] = set()
    for rule in filter(None, (word.strip() for word in text.split(","))):
        first, _, last = rule.removeprefix("^").partition("-")
        found = range(int(first), int(last or first) + 1)
        (taken if rule.startswith("^") else named).update(found)
    return frozenset(named - taken)
