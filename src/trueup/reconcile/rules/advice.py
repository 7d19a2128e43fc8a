# SPDX-License-Identifier: Apache-2.0
"""Advice: the commands that end an instance's task or migration, or move the instance. Pure.

The right command depends on the task, on the state, and on whether nova-compute of its host runs:
so each case has its own sentence. The sentences follow `_init_instance` of nova-compute, which ends
some tasks when it starts, and the states that Nova's API requires.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from trueup.reconcile.facts import Facts, Instance, Migration
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import is_bare_metal, nodes_moved
from trueup.reconcile.rules.machines import answers

_SET_ERROR = "run `openstack server set --state error {uuid}`, then "
_EVACUATE = "`openstack server evacuate {uuid}`"
_EVACUATED = f"{_SET_ERROR}{_EVACUATE}{{lost}}"
_AS_ACTIVE = "run `openstack server set --state active {uuid}`"
_RESTART = "restart nova-compute on {host}"
_OFFLOADED = (
    "in the database of {cell}: UPDATE instances SET vm_state = 'shelved_offloaded', task_state = "
    "NULL, host = NULL, node = NULL WHERE uuid = '{uuid}' AND host = '{host}' AND "
)
_UNSHELVED = "; `openstack server unshelve {uuid}` then starts it on another host"
_IMAGE = (
    "what was on its disk is in the image that shelving made, and an evacuation starts it from "
)
_IMAGE += "its first image"


@dataclass(frozen=True, slots=True)
class Advice:
    """What ends a task, or moves an instance: while nova-compute of its host is up, and is down."""

    up: str
    down: str


def _both(words: str) -> Advice:
    """An ending that works with and without nova-compute."""
    return Advice(words, words)


def _rebuilt(up: str, first: str = "") -> Advice:
    """An ending that is an evacuation while nova-compute is down; `first` says what is lost."""
    return Advice(up, f"{first}{_EVACUATED}")


_DELETED = "its owner deleted it: run `openstack server delete {uuid}` again"
_BUILT = Advice(
    f"its build was cut off: {_RESTART}, which sets it to error; its owner deletes it, and builds "
    "it again",
    "its build was cut off, so nothing of it is lost: run `openstack server delete {uuid}`, and "
    "have its owner build it again",
)
_POWER = _rebuilt(f"{_RESTART}, which ends this; or {_AS_ACTIVE}")
_SNAPSHOT = _rebuilt(f"{_AS_ACTIVE}, and have the image made again")
_SHELVING = _rebuilt(
    f"{_AS_ACTIVE}, and have it shelved again",
    "the image of its shelving is not complete: ",
)
_REBUILT = _rebuilt(
    f"its rebuild was cut off: {_RESTART}, which sets it to error; then rebuild it again",
    "its rebuild was cut off: ",
)
_RESIZED = _rebuilt(
    f"{_RESTART}, and on the other host of the move",
    "its disk may be on either host of its move: look on both, and copy it, before you ",
)
# An evacuation is a rebuild on another host, and has its tasks.
_EVACUATING = "rebuild"
# Each task of Nova: what ends it.
TASKS: Mapping[str, Advice] = {
    "deleting": Advice(
        f"its owner deleted it: {_RESTART}, which deletes it",
        f"{_DELETED}: Nova deletes it although nova-compute is down",
    ),
    "soft-deleting": Advice(
        f"its owner deleted it: {_SET_ERROR}`openstack server delete {{uuid}}`",
        f"{_DELETED}: Nova deletes it although nova-compute is down",
    ),
    "shelving_offloading": Advice(
        f"its owner shelved it: {_AS_ACTIVE}, then `openstack server shelve --offload {{uuid}}`, "
        "which shelves it again",
        f"its owner shelved it, so do not evacuate it: {_IMAGE}. Start nova-compute on {{host}}, "
        f"and shelve it again; if that will never start: {_OFFLOADED}task_state = "
        f"'shelving_offloading'{_UNSHELVED}",
    ),
    "shelving": _SHELVING,
    "shelving_image_pending_upload": _SHELVING,
    "shelving_image_uploading": _SHELVING,
    "unshelving": Advice(
        f"see that no guest of it is on {{host}}; then {_OFFLOADED}task_state = 'unshelving'"
        f"{_UNSHELVED}",
        f"do not evacuate it: {_IMAGE}. {_OFFLOADED}task_state = 'unshelving'{_UNSHELVED}",
    ),
    "scheduling": _BUILT,
    "block_device_mapping": _BUILT,
    "networking": _BUILT,
    "spawning": _BUILT,
    "rebuilding": _REBUILT,
    "rebuild_block_device_mapping": _REBUILT,
    "rebuild_spawning": _REBUILT,
    "migrating": _rebuilt(
        f"see with `openstack server migration list --server {{uuid}}` that no migration of it is "
        f"running; then {_RESTART}, which clears the task",
        "its guest may run on the target of its live migration: look there first (`virsh list`). "
        "If it runs there, correct `host` and `node` of its row; if it runs nowhere: ",
    ),
    "resize_prep": _rebuilt(f"{_RESTART}, which clears the task: nothing was moved yet"),
    "resize_migrating": _RESIZED,
    "resize_migrated": _RESIZED,
    "resize_finish": _RESIZED,
    "resize_reverting": _RESIZED,
    "resize_confirming": _rebuilt(
        f"{_RESTART}, then {_AS_ACTIVE[4:]}: what is left on the source of its resize is removed",
    ),
    "restoring": _rebuilt(
        f"its owner restored it: {_AS_ACTIVE}, then `openstack server start {{uuid}}`",
        "its owner restored it: ",
    ),
    "rescuing": _rebuilt(f"{_AS_ACTIVE}, then `openstack server reboot --hard {{uuid}}`"),
    "unrescuing": _rebuilt(f"{_AS_ACTIVE}, then `openstack server reboot --hard {{uuid}}`"),
    "suspending": _rebuilt(f"{_AS_ACTIVE}", "what its memory had is lost: "),
    "resuming": _rebuilt(f"{_AS_ACTIVE}", "what its memory had is lost: "),
    "updating_password": _rebuilt(_AS_ACTIVE),
    "image_snapshot": _SNAPSHOT,
    "image_snapshot_pending": _SNAPSHOT,
    "image_pending_upload": _SNAPSHOT,
    "image_uploading": _SNAPSHOT,
    "image_backup": _SNAPSHOT,
    **dict.fromkeys(
        (
            "rebooting", "reboot_pending", "reboot_started", "rebooting_hard",
            "reboot_pending_hard", "reboot_started_hard", "pausing", "unpausing", "powering-off",
            "powering-on",
        ),
        _POWER,
    ),
}  # fmt: skip
_UNKNOWN = Advice(
    "Trueup does not know this state: find out what Nova does with it",
    "Trueup does not know this state: find out what Nova does with it, and do not evacuate it",
)
_NOT_BUILT = _both(
    "no nova-compute has it: run `openstack server delete {uuid}`, and have its owner build it "
    "again"
)
_NOT_UNSHELVED = _both(
    "what was on its disk is in the image that shelving made, so do not delete it: in the "
    "database of {cell}: UPDATE instances SET task_state = NULL WHERE uuid = '{uuid}' AND host IS "
    "NULL AND vm_state = 'shelved_offloaded'; its owner then unshelves it again"
)
# Each state without a task: how an instance gets off its host.
STATES: Mapping[str, Advice] = {
    "active": Advice(
        "run `openstack server migrate --live-migration {uuid}`", f"run {_EVACUATE}{{lost}}"
    ),
    "stopped": Advice("run `openstack server migrate {uuid}`", f"run {_EVACUATE}{{lost}}"),
    "error": Advice(
        "find out why; to keep it, run `openstack server reboot --hard {uuid}`, then "
        "`openstack server migrate {uuid}`; otherwise have its owner delete it",
        f"run {_EVACUATE}{{lost}}",
    ),
    "paused": _rebuilt(
        "run `openstack server migrate --live-migration {uuid}`", "what its memory has is lost: "
    ),
    "suspended": _rebuilt(
        "run `openstack server resume {uuid}`, then `openstack server migrate --live-migration "
        "{uuid}`",
        "what its memory has is lost: ",
    ),
    "rescued": _rebuilt(
        "run `openstack server unrescue {uuid}`, then `openstack server migrate {uuid}`"
    ),
    "resized": _rebuilt(
        "run `openstack server resize revert {uuid}`, which moves it back to its source host; "
        "or confirm the resize, then migrate it"
    ),
    "shelved": Advice(
        "run `openstack server shelve --offload {uuid}`",
        f"do not evacuate it: {_IMAGE}. Start nova-compute on {{host}}, and run `openstack server "
        f"shelve --offload {{uuid}}`; if that will never start: {_OFFLOADED}vm_state = 'shelved' "
        f"AND task_state IS NULL{_UNSHELVED}",
    ),
    "shelved_offloaded": Advice(
        f"see that no guest of it is on {{host}}; then {_OFFLOADED}vm_state = 'shelved_offloaded'",
        f"do not evacuate it: {_IMAGE}. {_OFFLOADED}vm_state = 'shelved_offloaded'{_UNSHELVED}",
    ),
    "soft-delete": _both(
        "run `openstack server delete --force {uuid}`: its owner deleted it, and may restore it "
        "until then"
    ),
    "building": _BUILT,
    "deleted": Advice(
        f"its owner deleted it, and its deletion was cut off: {_RESTART}, which completes it",
        f"{_DELETED}: Nova deletes it although nova-compute is down",
    ),
}
# With these tasks, the state says nothing more. With other tasks, these states decide.
_OF_STATE = ("shelved_offloaded", "building")
_OF_TASK = ("deleting", "soft-deleting")


def way_off(instance: Instance, facts: Facts) -> str:
    """How an operator gets an instance off its host, in the state that it is in.

    SAFETY: an evacuation starts a second guest if the first one runs. So none is proposed while the
    machine answers under any name. Where a local disk would be lost, the advice says so.
    """
    ending, bare_metal = _ending(instance), is_bare_metal(instance, facts)
    settled = instance.task_state is None and instance.vm_state != "building"
    if bare_metal and (settled or _EVACUATE in ending.down):
        return nodes_moved(instance, facts)
    if _is_up(instance.host, instance.cell, facts):
        cut = _evacuation_cut_off(instance, facts)
        return cut or _words(ending, instance, facts, up=True)
    if _EVACUATE not in ending.down:
        return _words(ending, instance, facts, up=False)
    if reason := answers(instance.host or "", instance.cell, facts):
        return (
            f"do not evacuate it: {reason}, and its guest may run there. Start nova-compute on "
            f"{instance.host}, and move it then"
        )
    words = _words(ending, instance, facts, up=False)
    return f"{words}; or start nova-compute on {instance.host} and migrate it"


def ending_of(instance: Instance, facts: Facts) -> str:
    """What ends what is under way with an instance: its task, or else its migration."""
    move = facts.moving.get(instance.uuid)
    if instance.task_state is None and move:
        return move_ended(move, facts)
    if instance.host is None:
        return _words(_on_no_host(instance), instance, facts, up=False)
    if _is_up(instance.host, instance.cell, facts):
        if cut := _evacuation_cut_off(instance, facts):
            return cut
        words = _words(_ending(instance), instance, facts, up=True)
    else:
        words = way_off(instance, facts)
    return f"{words}. Its migration: {move_ended(move, facts)}" if move else words


def _evacuation_cut_off(instance: Instance, facts: Facts) -> str:
    """What ends an evacuation from a host that is up again; "" if there is none.

    SAFETY: its task is that of a rebuild, and another rebuild would make its disk anew.
    """
    move = facts.moving.get(instance.uuid)
    if move is None or move.kind != "evacuation" or _EVACUATING not in (instance.task_state or ""):
        return ""
    return (
        f"its evacuation was cut off: do not rebuild it, which would make its disk anew, but "
        f"{move_ended(move, facts)}; then run `openstack server set --state active "
        f"{instance.uuid}`, which clears the task"
    )


def move_ended(move: Migration, facts: Facts) -> str:
    """What ends a migration that cannot end by itself. Nova has no command for most of them."""
    if move.status == "finished":
        return unconfirmed_ended(move, move.source_host or "its source", True, facts)
    hosts = (
        (move.target_host,) if move.kind == "evacuation" else (move.source_host, move.target_host)
    )
    down = [host for host in hosts if host and not _is_up(host, move.cell, facts)]
    cell = facts.cells.get(move.cell, move.cell)
    started = (
        f"start nova-compute on {' and '.join(down)}; if it will never start: " if down else ""
    )
    abort = ""
    if move.kind == "live-migration" and not down:
        abort = (
            f"run `openstack server migration abort {move.instance} {move.uuid}`; if that fails, "
        )
    return (
        f"{started}{abort}see on which of {move.source_host} and {move.target_host or 'its target'}"
        f" its guest and its disk are, and that Nova names that host; then in the database of "
        f"{cell}: UPDATE migrations SET status = 'error' WHERE uuid = '{move.uuid}' AND status = "
        f"'{move.status}'"
    )


def unconfirmed_ended(
    move: Migration, host: str, leaves: bool, facts: Facts, registers: str = ""
) -> str:
    """What ends a move that waits for confirmation, with or without the nova-compute of a host.

    `leaves`: the move leaves that host. `registers`: what else the operator must know of its start.
    """
    return (
        f"start nova-compute on {host}{registers} and run `openstack server resize "
        f"{'confirm' if leaves else 'revert'} {move.instance}`. If it will never start again: run "
        f"`openstack server set --state {'active' if leaves else 'error'} {move.instance}`, and in "
        f"the database of {facts.cells.get(move.cell, move.cell)}: UPDATE migrations SET status = "
        f"'error' WHERE uuid = '{move.uuid}' AND status = 'finished'"
    )


def cannot_end(instance: Instance, facts: Facts) -> Reason | None:
    """Why what is under way with an instance cannot end by itself, as far as is known; or None."""
    move = facts.moving.get(instance.uuid)
    hosts = {instance.host, *((move.source_host, move.target_host) if move else ())}
    if move and move.kind == "evacuation":
        hosts = {move.target_host}  # an evacuation has a source that is down
    elif move and move.status == "finished" and instance.task_state is None:
        hosts = {move.source_host}  # a confirmation needs the source, a revert both
        if not _somebody_reports(instance.cell, facts):
            return None  # of a database that stands still, every service looks down
    for host in sorted(filter(None, hosts)):
        service = facts.service_of(instance.cell, host)
        if service and not service.is_up(facts.taken_at):
            state = "forced down" if service.forced_down else "down"
            return because("nova-compute-down", host=host, state=state)
    task = instance.task_state or ""
    if move is None and (task == "migrating" or task.startswith("resize_")):
        return because("no-move-under-way")
    return None


def _somebody_reports(cell: str, facts: Facts) -> bool:
    return any(row.cell == cell and row.is_up(facts.taken_at) for row in facts.services)


def _on_no_host(instance: Instance) -> Advice:
    if instance.task_state in _OF_TASK:
        return TASKS[instance.task_state]
    return {"building": _NOT_BUILT, "shelved_offloaded": _NOT_UNSHELVED}.get(
        instance.vm_state or "", _UNKNOWN
    )


def _ending(instance: Instance) -> Advice:
    task, state = instance.task_state, instance.vm_state or ""
    if task in _OF_TASK:
        return TASKS[task]
    if state in _OF_STATE and task != "unshelving":
        return STATES[state]
    if task is None:
        return STATES.get(state, _UNKNOWN)
    return TASKS.get(task, _UNKNOWN)


def _words(ending: Advice, instance: Instance, facts: Facts, *, up: bool) -> str:
    return (ending.up if up else ending.down).format(
        uuid=instance.uuid,
        host=instance.host,
        cell=facts.cells.get(instance.cell, instance.cell),
        lost=_lost(instance),
    )


def _lost(instance: Instance) -> str:
    """What an evacuation loses, unless all hosts share the disks."""
    if instance.volume_backed and not (instance.flavor and instance.flavor.ephemeral_gb):
        return ""
    what = "its ephemeral disk" if instance.volume_backed else "its local disk"
    return (
        f", which makes it anew from its image: {what} is lost, unless it is on storage that the "
        "hosts share"
    )


def _is_up(host: str | None, cell: str, facts: Facts) -> bool:
    service = facts.service_of(cell, host or "")
    return service is not None and service.is_up(facts.taken_at)
