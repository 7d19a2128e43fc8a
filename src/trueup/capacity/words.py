# SPDX-License-Identifier: Apache-2.0
"""The words for counts of capacity: what binds, why hosts are left out, and what is not counted."""

from collections.abc import Iterable, Mapping

from trueup.capacity.asked import Gap
from trueup.capacity.counting import Bind, Binding, Capacity
from trueup.capacity.places import LeftOut
from trueup.capacity.relocation import Failure, Move, Outcome
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.wording import counted

POLICY = "Each flavor is counted alone. Hosts are filled one after the other, the emptiest first."
MIX_POLICY = (
    "Servers are made in turn, {}, until one has no place. "
    "Each goes to the first host with room, the emptiest first."
)
LEFT_OUT = {
    LeftOut.DISABLED: "disabled",
    LeftOut.DOWN: "down",
    LeftOut.NO_SERVICE: "without a compute service",
    LeftOut.NOT_MAPPED: "mapped to no cell",
    LeftOut.CELL_DISABLED: "in a disabled cell",
    LeftOut.NO_PROVIDER: "without a resource provider",
    LeftOut.BROKEN_TREE: "with a broken provider tree",
    LeftOut.SAME_PROVIDER: "with the same provider as another host",
}
GAPS = {
    Gap.PCI_ALIAS: "PCI devices of an alias, which nova.conf defines",
    Gap.DEVICE_PROFILE: "accelerators of a device profile, which Cyborg knows",
    Gap.NUMA_NOT_READ: "NUMA cells of hosts, which Nova's API does not show",
    Gap.TRAITS_NOT_READ: "traits, which were not read: use --placement-database",
    Gap.HOST_CAPABILITIES: "capabilities that hosts report to the scheduler",
    Gap.AGGREGATE_SPECS: "extra specs that Nova may compare with the metadata of aggregates",
    Gap.AGGREGATE_OWNERS: "aggregates that Nova may keep for some projects, flavors or traits",
}
WITHOUT_PCPU = (
    "Hosts without PCPU count as full for dedicated CPUs; Nova may use their VCPU instead "
    "([workarounds]disable_fallback_pcpu_query)."
)
_DEVICES = "what ports and PCI devices need"
_BINDS = {
    Bind.UNIT: "{} by min_unit, max_unit or step_size",
    Bind.NUMA: "NUMA cells",
    Bind.SERVERS_MAX: "max_instances_per_host of an aggregate",
    Bind.SERVER_GROUP: "its server group ({})",
    Bind.TOGETHER: "no provider for all groups together",
    Bind.MIX: "{} is next, and fits nowhere",
}


def policy(found: Capacity) -> str:
    """How servers were packed."""
    if not found.mix:
        return POLICY
    return MIX_POLICY.format(", ".join(f"{number} {name}" for name, number in found.mix.items()))


def whole_mixes(found: Capacity) -> Mapping[str, int]:
    """By group: how often the whole mix fits."""
    fits: dict[str, list[int]] = {}
    for row in found.rows:
        fits.setdefault(row.group, []).append(row.now.fits // found.mix[row.asked.name])
    return {group: min(numbers) for group, numbers in fits.items()}


def binding(one: Binding) -> str:
    """What keeps one more server away: `VCPU`, or `disabled`."""
    kind, name = one
    if kind is Bind.LEFT_OUT:
        return LEFT_OUT[LeftOut(name)]
    return _BINDS.get(kind, "{}").format(name)


def bindings(binds: Mapping[Binding, int]) -> str:
    """`VCPU: 3 hosts`, a line for each: the most frequent first."""
    ranked = sorted(binds.items(), key=lambda item: (-item[1], item[0]))
    return "\n".join(f"{binding(bind)}: {counted(number, 'host')}" for bind, number in ranked)


def left_out(found: Capacity) -> str:
    """How many hosts are left out, and why; empty if none is."""
    parts = [f"{number} {LEFT_OUT[why]}" for why, number in sorted(found.left_out.items())]
    if not parts:
        return ""
    number = sum(found.left_out.values())
    return f"{number} of {counted(len(found.places), 'host')} get no servers: {', '.join(parts)}."


def not_counted(gaps: frozenset[Gap]) -> str:
    """Why fewer servers than are said may fit."""
    return "; ".join(GAPS[gap] for gap in sorted(gaps))


def open_in(failures: Iterable[Failure]) -> str:
    """What was not checked of servers that have a place."""
    unsure = [
        move
        for failure in failures
        if failure.outcome is Outcome.UNCERTAIN
        for move in failure.moves
        if not move.certain
    ]
    gaps = frozenset[Gap]().union(*(move.gaps for move in unsure))
    return _unchecked(gaps, devices=any(move.has_devices for move in unsure))


def _unchecked(gaps: frozenset[Gap], *, devices: bool) -> str:
    return "; ".join([*([not_counted(gaps)] if gaps else []), *([_DEVICES] if devices else [])])


def move(one: Move) -> str:
    """Where a server could go, or why nowhere."""
    if one.to is None:
        if one.reason:
            return in_words(one.reason)
        return bindings(one.binds or {}) or "no other host in its cell and zone takes servers"
    known = _unchecked(one.gaps, devices=one.has_devices)
    return f"not checked: {known}" if known else ""
