# SPDX-License-Identifier: Apache-2.0
"""What `heal_allocations` says of each instance, decided by its claim and the plan. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from trueup.cli.nova_manage import heal_lines as lines
from trueup.reconcile.defects import (
    doubled_allocation,
    missing_allocation,
    missing_device_allocation,
    missing_port_allocation,
    port_binding_mismatch,
    wrong_amount,
    wrong_owner,
    wrong_provider,
)
from trueup.reconcile.expected import Ambiguous, Share, open_reasons, share_of
from trueup.reconcile.facts import Facts, Instance
from trueup.reconcile.rules.claims import (
    LostInMove,
    Missing,
    Moving,
    NotCertain,
    OnHost,
    OnNoHost,
    PortsMissing,
    Right,
    claim_of,
)
from trueup.reconcile.steps import Step, held_in
from trueup.reconcile.verdicts import Finding

# The defects that Nova's command heals, and those that it should.
_OF_NOVA = frozenset(
    {
        missing_allocation.NAME,
        missing_port_allocation.NAME,
        port_binding_mismatch.NAME,
        wrong_owner.NAME,
    }
)
HEALED = _OF_NOVA | {
    doubled_allocation.NAME,
    missing_device_allocation.NAME,
    wrong_amount.NAME,
    wrong_provider.NAME,
}
WRONG_OWNER = wrong_owner.NAME
_OF_PORTS = frozenset({missing_port_allocation.NAME, port_binding_mismatch.NAME})
CODE_NO_NODE, CODE_NOT_UPDATED, CODE_NOT_SUPPORTED = 2, 3, 8


@dataclass(frozen=True, slots=True)
class Healed:
    """A step is planned for the instance."""

    finding: Finding
    step: Step
    created: bool


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing is to be done; `line` is what Nova prints, if it prints something."""

    line: str


@dataclass(frozen=True, slots=True)
class CannotHeal:
    """It should be healed and cannot be; Nova's line, and Nova's return code."""

    line: str
    code: int


Verdict = Healed | Skipped | CannotHeal


@dataclass(frozen=True, slots=True)
class Planned:
    """What was planned: by instance, its finding and step, or why there is no step.

    `later` are instances to heal for which --max-count leaves no room in this run.
    """

    facts: Facts
    steps: Mapping[str, tuple[Finding, Step]] = field(default_factory=dict)
    declined: Mapping[str, str] = field(default_factory=dict)
    later: frozenset[str] = frozenset()


def candidates(cell: str, facts: Facts, found: Iterable[str]) -> list[Instance]:
    """The instances of a cell that Nova looks at, the oldest first.

    Nova leaves out soft-deleted instances, which keep what they hold. One that has lost it is
    among ours: `found` are the instances with findings.
    """
    wanted = frozenset(found)
    rows = [
        row
        for row in facts.instances
        if row.cell == cell and not (row.deleted or row.hidden or row.archived)
    ]
    seen = [row for row in rows if not row.soft_deleted or row.uuid in wanted]
    return sorted(seen, key=lambda row: (row.created_at is not None, row.created_at))


def verdict(instance: Instance, planned: Planned) -> Verdict:
    """What is to be done with an instance, or why nothing can be."""
    uuid = instance.uuid
    if instance.task_state is not None:
        return Skipped(lines.in_task(uuid, instance.task_state))
    if instance.node is None:
        return Skipped(lines.on_no_host(uuid))
    if uuid in planned.steps:
        finding, step = planned.steps[uuid]
        return Healed(finding, step, created=not planned.facts.consumers.get(uuid))
    if needs_healing(instance, planned):
        return _cannot(instance, planned)
    return Skipped(lines.up_to_date(uuid))


def needs_healing(instance: Instance, planned: Planned) -> bool:
    """Whether Nova would try to write an allocation for it."""
    claim = claim_of(instance.uuid, planned.facts)
    if instance.uuid in planned.declined:
        return True
    if isinstance(claim, Right | OnNoHost | Moving):
        return False
    holds = bool(planned.facts.consumers.get(instance.uuid))
    return isinstance(claim, Missing | LostInMove | PortsMissing) or not holds


def _cannot(instance: Instance, planned: Planned) -> CannotHeal:
    facts, uuid = planned.facts, instance.uuid
    place = (instance.cell, instance.host or "", instance.node or "")
    if not facts.nodes_by_place.get(place):
        return CannotHeal(lines.no_compute_node(instance.host), CODE_NO_NODE)
    specs = instance.flavor.extra_specs if instance.flavor else {}
    if specs.get("resources:VGPU"):
        return CannotHeal(lines.with_vgpu(uuid), CODE_NOT_SUPPORTED)
    if specs.get("accel:device_profile"):
        return CannotHeal(lines.with_device_profile(uuid), CODE_NOT_SUPPORTED)
    error = _of_ports(instance, facts) or why(instance, planned)
    return CannotHeal(lines.not_updated(uuid, error), CODE_NOT_UPDATED)


def _of_ports(instance: Instance, facts: Facts) -> str:
    """Nova's words for ports whose providers are not known; or empty."""
    claim = claim_of(instance.uuid, facts)
    if not isinstance(claim, OnHost):
        return ""
    parts = [one for one in claim.wanted.of(Share.PORTS).open if isinstance(one, Ambiguous)]
    ports = list(dict.fromkeys(part.source.removeprefix("port ") for part in parts))
    if any(not part.providers for part in parts):
        return lines.no_candidate(ports)
    return lines.several_candidates(ports) if parts else ""


def why(instance: Instance, planned: Planned) -> str:
    """Why an instance cannot be healed, or is not certain to be right, in our words."""
    if reason := planned.declined.get(instance.uuid):
        return reason
    match claim_of(instance.uuid, planned.facts):
        case NotCertain(_, reason, _) | Moving(_, reason):
            return reason
        case OnHost() as claim:
            return open_reasons(claim.wanted, planned.facts.provider_names)
    return ""


def notes(instance: Instance, said: Verdict, planned: Planned) -> Iterator[str]:
    """Where what we do with an instance differs from what Nova does, in sentences."""
    facts, uuid = planned.facts, instance.uuid
    match said:
        case Healed(finding, step, _):
            if instance.soft_deleted:
                yield f"nova-manage skips instance {uuid}, which is soft-deleted and can come back."
            if finding.defect not in _OF_NOVA:
                yield f"nova-manage takes instance {uuid} for up-to-date; it has {finding.defect}."
            elif finding.defect not in _OF_PORTS and _beyond_nova(instance, step, facts):
                yield (
                    f"nova-manage allocates only what the flavor of instance {uuid} asks for, all "
                    "of its compute node; this is what flavor, image, ports and devices ask for."
                )
        case CannotHeal(line):
            if (reason := why(instance, planned)) and reason not in line:
                yield f"instance {uuid}: {reason}."
        case Skipped(line) if line == lines.up_to_date(uuid):
            claim = claim_of(uuid, facts)
            if isinstance(claim, NotCertain):
                yield f"instance {uuid} holds something, and could not be judged: {claim.reason}."
            elif not isinstance(claim, Right | Moving | OnNoHost):
                yield f"instance {uuid} is not right: 'trueup audit --instance {uuid}' says more."


def _beyond_nova(instance: Instance, step: Step, facts: Facts) -> bool:
    """Whether a step allocates what Nova's command would not."""
    claim = claim_of(instance.uuid, facts)
    if not isinstance(claim, OnHost):
        return True
    held = [row for one in step.changes for row in held_in(one.after).values() if row]
    amounts = [(uuid, name) for row in held for uuid, of in row.amounts.items() for name in of]
    of_flavor = [(uuid, name) for uuid, name in amounts if share_of(name) is not Share.PORTS]
    specs = instance.flavor.extra_specs if instance.flavor else {}
    pinned = specs.get("hw:cpu_policy") == "dedicated" or "resources:PCPU" in specs
    return any(
        uuid != claim.provider.uuid or (name == "PCPU" and not pinned) for uuid, name in of_flavor
    )
