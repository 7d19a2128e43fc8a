# SPDX-License-Identifier: Apache-2.0
"""The lines of Nova 34's `nova-manage placement heal_allocations`. PARITY: each is Nova's own."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trueup.reconcile.facts import Allocations, Facts, Port
from trueup.reconcile.steps import Change, PortBinding, Profile, Step, held_in

BATCH = 50
RUNNING = f"Running batches of {BATCH} until complete"
NO_CELLS = "No cells to process."
EXCLUSIVE = "The --cell and --instance options are mutually exclusive."
FORCE_NEEDS_INSTANCE = "The --instance flag is required when using --force flag."
COUNT_NOT_POSITIVE = "Must supply a positive integer for --max-count."
PLACEMENT_SILENT = "Unable to communicate with the Placement API."
_MANUAL = "https://docs.openstack.org/nova/latest/cli/nova-manage.html#placement"


def not_mapped(instance: str) -> str:
    return (
        f"Unable to find cell for instance {instance}, is it mapped? Try running "
        '"nova-manage cell_v2 verify_instance" or "nova-manage cell_v2 map_instances".'
    )


def no_cell(cell: str) -> str:
    return f"Cell with uuid {cell} was not found."


def looking(uuid: str, name: str) -> str:
    """`name` is the uuid again for a cell without a name."""
    return f"Looking for instances in cell: {uuid}" + (f"({name})" if name != uuid else "")


def candidates(count: int) -> str:
    return f"Found {count} candidate instances."


def in_task(instance: str, task_state: str) -> str:
    return f"Instance {instance} is undergoing a task state transition: {task_state}"


def on_no_host(instance: str) -> str:
    return f"Instance {instance} is not on a host."


def forced(instance: str) -> str:
    return f"Force flag passed for instance {instance}"


def up_to_date(instance: str) -> str:
    return f"The allocation of instance {instance} is up-to-date. Nothing to be healed."


def healed(instance: str, created: bool) -> str:
    done = "created" if created else "updated"
    return f"Successfully {done} allocations for instance {instance}."


def rehearsed(instance: str, created: bool, document: Mapping[str, Any]) -> str:
    verb = "Create" if created else "Update"
    return f"[dry-run] {verb} allocations for instance {instance}: {json.dumps(document)}"


def processed(count: int) -> str:
    return f"Processed {count} instances."


def max_reached(count: int) -> str:
    return f"Max count reached. Processed {count} instances."


def no_compute_node(host: str | None) -> str:
    return f"Compute host {host} could not be found."


def not_updated(instance: str, error: str) -> str:
    return f"Failed to update allocations for consumer {instance}. Error: {error}"


def with_vgpu(instance: str) -> str:
    return (
        f"Healing allocation for instance {instance} with vGPU resource request is not supported."
    )


def with_device_profile(instance: str) -> str:
    return (
        f"Healing allocation for instance {instance} with Cyborg device profile request is not "
        "supported."
    )


def ports_not_read(instance: str, error: str) -> str:
    return f"Unable to query ports for instance {instance}: {error}"


def ports_not_updated(error: str) -> str:
    return (
        "Unable to update ports with allocations that are about to be created in placement: "
        f"{error}. The healing of the instance is aborted. It is safe to try to heal the instance "
        "again."
    )


def ports_not_rolled_back(error: str, ports: Iterable[str]) -> str:
    return (
        "Failed to update neutron ports with allocation keys and the automatic rollback of the "
        f"previously successful port updates also failed: {error}. Make sure that the "
        f"binding:profile.allocation key of the affected ports {list(ports)} are manually cleaned "
        f"in neutron according to document {_MANUAL}. If you re-run the script without the manual "
        "fix then the missing allocation for these ports will not be healed in placement."
    )


def no_candidate(ports: Iterable[str]) -> str:
    return (
        "Placement returned no allocation candidate to fulfill the resource request of the "
        f"port(s) {list(ports)}"
    )


def several_candidates(ports: Iterable[str]) -> str:
    # PARITY: two of the blanks between words are missing in Nova's text as well.
    return (
        "Placement returned more than one possible allocation candidates to fulfill the resource "
        f"request of the port(s) {list(ports)}. This script does not have enough information to "
        "select the proper candidate to heal themissing allocations. A possible way to heal the"
        "allocation of this instance is to migrate it to another compute as the migration process "
        "re-creates the full allocation on the target host."
    )


def bindings(step: Step) -> list[Change]:
    """The changes of a step that write ports."""
    return [change for change in step.changes if isinstance(change.target, PortBinding)]


def port_mapped(change: Change, port: Port, instance: str) -> str:
    return (
        f"Found a request group : resource provider mapping {_profile(change)['allocation']} for "
        f"the port {port.id} with resource request {_request(port)} attached to the instance "
        f"{instance}"
    )


def port_updated(change: Change) -> str:
    return (
        f"Updating port {port_of(change)} with attributes {{'binding:profile': {_profile(change)}}}"
    )


def failed_port_updates(changes: Iterable[Change], failed: str, error: str) -> Iterator[str]:
    """The lines about each port when the update of one of them failed."""
    written: list[str] = []
    for change in changes:
        yield port_updated(change)
        if port_of(change) == failed:
            yield f"Updating port {failed} failed: {error}"
            break
        written.append(port_of(change))
    for port in written:
        yield f"Rolling back port update for {port}"


def document(
    instance: str, step: Step, facts: Facts, with_generations: bool = False
) -> dict[str, Any]:
    """What a step leaves the instance with, as Nova prints it."""
    for change in step.changes:
        if held := held_in(change.after).get(instance):
            return _document(held, change.version.get(instance), facts, with_generations)
    return held_document(instance, facts)


def held_document(instance: str, facts: Facts) -> dict[str, Any]:
    """What the instance holds already, as Nova prints it."""
    row = facts.alive[instance]
    held = Allocations(facts.consumers.get(instance, {}), row.project, row.user)
    holding = facts.holdings.get(instance)
    return _document(held, holding.generation if holding else None, facts, False)


def _document(
    held: Allocations, generation: int | str | None, facts: Facts, with_generations: bool
) -> dict[str, Any]:
    allocations: dict[str, dict[str, Any]] = {}
    for uuid, amounts in held.amounts.items():
        allocations[uuid] = {"resources": dict(amounts)}
        if with_generations and uuid in facts.providers:
            allocations[uuid]["generation"] = facts.providers[uuid].generation
    return {
        "allocations": allocations,
        "project_id": held.project,
        "user_id": held.user,
        "consumer_generation": generation,
    }


def port_of(change: Change) -> str:
    """The port that a change writes."""
    return change.target.port if isinstance(change.target, PortBinding) else ""


def _profile(change: Change) -> dict[str, Any]:
    return dict(change.after.content) if isinstance(change.after, Profile) else {}


def _request(port: Port) -> dict[str, Any]:
    """The port's `resource_request`, in the format in which Neutron gave it."""
    groups = [
        {"id": one.id, "required": list(one.required), "resources": dict(one.resources)}
        for one in port.request_groups
    ]
    if [one["id"] for one in groups] == [port.id]:
        return {name: value for name, value in groups[0].items() if name != "id"}
    return {"request_groups": groups, "same_subtree": list(port.same_subtree)}
