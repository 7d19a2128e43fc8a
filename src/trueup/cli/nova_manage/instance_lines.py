# SPDX-License-Identifier: Apache-2.0
"""What `heal_allocations` says of each instance: one line, and Nova's code if it fails. Pure.

PARITY: each line has the words of Nova's line that says the same.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
from trueup.reconcile.expected import Ambiguous, Share, open_reasons
from trueup.reconcile.facts import NEUTRON, Facts, Instance
from trueup.reconcile.report.reasons import in_words
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
from trueup.reconcile.runs.journal import Outcome
from trueup.reconcile.steps import PortBinding, Step, held_in

# The defects that only add something, and all that are healed.
ADDING = frozenset(
    {
        missing_allocation.NAME,
        missing_device_allocation.NAME,
        missing_port_allocation.NAME,
        port_binding_mismatch.NAME,
        wrong_owner.NAME,
    }
)
HEALED = ADDING | {doubled_allocation.NAME, wrong_amount.NAME, wrong_provider.NAME}
CODE_NO_NODE, CODE_NOT_UPDATED = 2, 3
CODE_PORTS_NOT_READ, CODE_PORTS_NOT_UPDATED, CODE_PORTS_NOT_ROLLED_BACK = 5, 6, 7
CODE_NOT_SUPPORTED = 8
_OF_CYBORG = "accel:device_profile"


@dataclass(frozen=True, slots=True)
class Told:
    """The line of an instance, and Nova's code if it was not healed.

    `always`: Nova's --verbose need not be given for it.
    """

    line: str
    code: int | None = None
    always: bool = False
    healed: bool = False


@dataclass(frozen=True, slots=True)
class Healing:
    """What was planned and written for each instance, or why it was not.

    `later` are those for which --max-count leaves no room. Without `writes` it is a rehearsal.
    """

    facts: Facts
    steps: Mapping[str, Step] = field(default_factory=dict)
    declined: Mapping[str, str] = field(default_factory=dict)
    later: frozenset[str] = frozenset()
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    writes: bool = True
    forced: bool = False


def neutron_silent(facts: Facts) -> str:
    """Why Neutron did not answer; empty if it did, or there is none."""
    return next(
        (status.reason for status in facts.coverage.missing if status.source == NEUTRON), ""
    )


def told(instance: Instance, healing: Healing) -> Told:
    """What was done with an instance, or why nothing was."""
    uuid, facts = instance.uuid, healing.facts
    if instance.task_state is not None:
        return Told(f"Instance {uuid} is undergoing a task state transition: {instance.task_state}")
    if instance.node is None:
        return Told(f"Instance {uuid} is not on a host.")
    if silent := neutron_silent(facts):
        return Told(f"Unable to query ports for instance {uuid}: {silent}", CODE_PORTS_NOT_READ)
    if uuid in healing.steps:
        return _of_step(uuid, healing.steps[uuid], healing)
    claim = claim_of(uuid, facts)
    if _needs_healing(uuid, healing):
        return _cannot(instance, healing)
    if isinstance(claim, NotCertain):
        return Told(
            f"Instance {uuid} could not be checked: {in_words(claim.reason)}.",
            CODE_NOT_UPDATED,
        )
    if not isinstance(claim, Right | Moving | OnNoHost):
        more = f"'trueup audit --instance {uuid}' says more"
        return Told(f"Instance {uuid} is not right, and is left as it is: {more}.", always=True)
    line = f"The allocation of instance {uuid} is up-to-date. Nothing to be healed."
    # SAFETY: with --force, Nova writes the flavor's share alone, and drops all others.
    return Told(line, healed=healing.forced and healing.writes)


def _needs_healing(uuid: str, healing: Healing) -> bool:
    """Whether Nova would try to write an allocation for it."""
    claim = claim_of(uuid, healing.facts)
    if uuid in healing.declined or isinstance(claim, Missing | LostInMove | PortsMissing):
        return True
    holds = bool(healing.facts.consumers.get(uuid))
    return not (holds or isinstance(claim, Right | OnNoHost | Moving))


def _of_step(uuid: str, step: Step, healing: Healing) -> Told:
    created = not (healing.forced or healing.facts.consumers.get(uuid))
    if not healing.writes:
        verb = "Create" if created else "Update"
        return Told(f"[dry-run] {verb} allocations for instance {uuid}: {_after(uuid, step)}")
    outcome = healing.outcomes.get(uuid)
    if outcome is None or outcome.result != "done":
        return _not_written(uuid, step, outcome)
    done = "created" if created else "updated"
    return Told(f"Successfully {done} allocations for instance {uuid}.", healed=True)


def _after(uuid: str, step: Step) -> str:
    """What a step leaves an instance with, and which ports it writes, as a document."""
    document: dict[str, Any] = {}
    for change in step.changes:
        if isinstance(change.target, PortBinding):
            document.setdefault("ports", []).append(change.target.port)
        elif held := held_in(change.after).get(uuid):
            amounts = {provider: {"resources": dict(row)} for provider, row in held.amounts.items()}
            owner = {"project_id": held.project, "user_id": held.user}
            document |= {"allocations": amounts, **owner}
    return json.dumps(document)


def _not_written(uuid: str, step: Step, outcome: Outcome | None) -> Told:
    reason = in_words(outcome.reason) if outcome else "its turn did not come"
    refused = outcome.target.partition(":")[0] if outcome else ""
    ports = {
        change.target.port for change in step.changes if isinstance(change.target, PortBinding)
    }
    left = [target.partition(":")[2] for target in outcome.left] if outcome else []
    if left := [port for port in left if port in ports]:
        line = (
            f"Rolling back port updates of instance {uuid}: Failed to update neutron ports with "
            "allocation keys and the automatic rollback of the previously successful port updates "
            f"also failed: {reason}. Make sure that the binding:profile.allocation key of the "
            f"affected ports {left} are manually cleaned in neutron, or by 'trueup undo'."
        )
        return Told(line, CODE_PORTS_NOT_ROLLED_BACK)
    if refused == "port-binding" or (outcome is None and ports):
        line = (
            "Unable to update ports with allocations that are about to be created in placement for "
            f"instance {uuid}: {reason}. Rolling back port updates: nothing of them is left. It is "
            "safe to try to heal the instance again."
        )
        return Told(line, CODE_PORTS_NOT_UPDATED)
    return Told(
        f"Failed to update allocations for consumer {uuid}. Error: {reason}", CODE_NOT_UPDATED
    )


def _cannot(instance: Instance, healing: Healing) -> Told:
    facts, uuid = healing.facts, instance.uuid
    failed = f"Failed to update allocations for consumer {uuid}. Error: "
    reason = _why(uuid, healing)
    place = (instance.cell, instance.host or "", instance.node or "")
    if not facts.nodes_by_place.get(place):
        words = f"Compute host {instance.host} could not be found."
        return Told(f"{failed}{words} {reason}".rstrip(), CODE_NO_NODE)
    specs = instance.flavor.extra_specs if instance.flavor else {}
    for asked, what in (("resources:VGPU", "vGPU resource"), (_OF_CYBORG, "Cyborg device profile")):
        if specs.get(asked):
            words = f"Healing allocation for instance {uuid} with {what} request is not supported."
            return Told(f"{words} {reason}".rstrip(), CODE_NOT_SUPPORTED)
    return Told(f"{failed}{_of_ports(uuid, facts)}{reason}", CODE_NOT_UPDATED)


def _of_ports(uuid: str, facts: Facts) -> str:
    """Nova's words before the reason, for ports whose providers are not known; or empty."""
    claim = claim_of(uuid, facts)
    wanted = claim.wanted.of(Share.PORTS).open if isinstance(claim, OnHost) else ()
    parts = [part for part in wanted if isinstance(part, Ambiguous)]
    if not parts:
        return ""
    if all(part.providers for part in parts):
        return "Placement returned more than one possible allocation candidates: "
    return "Placement returned no allocation candidate: "


def _why(uuid: str, healing: Healing) -> str:
    """Why an instance cannot be healed, in our words; or empty."""
    if declined := healing.declined.get(uuid):
        return declined
    match claim_of(uuid, healing.facts):
        case NotCertain(_, reason, _) | Moving(_, reason):
            return in_words(reason)
        case OnHost() as claim:
            return in_words(open_reasons(claim.wanted, healing.facts.provider_names))
    return ""
