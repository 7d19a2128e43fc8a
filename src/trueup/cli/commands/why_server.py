# SPDX-License-Identifier: Apache-2.0
"""trueup why --server: what Nova's databases say of a server that found no host."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from trueup.cli.terminal.options import nova_conf_of
from trueup.exit_codes import ExitCode
from trueup.placement.why import Writes
from trueup.reconcile.clock import now
from trueup.reconcile.facts import Port, ScheduledServer, SchedulerOptions
from trueup.reconcile.garbage import garbage_left
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.scheduling import (
    Filtered,
    Move,
    MoveImpossible,
    Query,
    Refused,
    filtered,
    moved,
    query_of,
)
from trueup.reconcile.scheduling.moves import KINDS, refusal
from trueup.reconcile.sources.connect import scheduler_of
from trueup.reconcile.sources.errors import AccessDenied, NotOne, Unreachable
from trueup.reconcile.sources.neutron import Neutron
from trueup.reconcile.sources.nova.databases import NovaDatabases
from trueup.reconcile.sources.nova.scheduling import NotARequest, Schedule
from trueup.reconcile.wording import counted

_RESIZE = "resize:"
_NOWHERE = "no cell has a row of it: it is being built, or its row was deleted"


class ServerRefused(Exception):
    """The question about a server cannot be asked; the text says why."""


@dataclass(frozen=True, slots=True)
class AskedServer:
    """A server, the query that Nova makes for it, and all that its filters look at.

    `ports_silent`: why Neutron did not say what its ports ask for. `refusal`: why Nova refuses the
    move before it looks for a host.
    """

    schedule: Schedule
    options: SchedulerOptions
    query: Query
    ports_silent: str = ""
    refusal: str = ""

    @garbage_left()
    def filtered(self, candidates: Collection[str]) -> Filtered:
        """What Nova's filters leave of these candidates."""
        schedule = self.schedule
        return filtered(schedule.request, schedule.hosts, candidates, self.options, now())

    @property
    def since(self) -> datetime | None:
        """When the server had its last fault."""
        return self.schedule.server.fault_at if self.schedule.server else None

    def remarks(self, result: Filtered, candidates: int, writes: Writes | None) -> Iterator[str]:
        """What is known of the server, what is not, and what has changed since its fault."""
        schedule, server = self.schedule, self.schedule.server
        if server:
            yield _introduced(server)
        elif not schedule.silent:
            yield f"{_NOWHERE.capitalize()}."
        if self.refusal:
            yield f"Nova refuses the move now: {self.refusal}. The scheduler would find this:"
        if self.since and writes:
            yield _changed(schedule, self.since, writes)
        if schedule.silent:
            yield f"Did not answer, so its hosts are left out: {', '.join(schedule.silent)}"
        if self.ports_silent:
            yield f"Neutron does not say what its ports ask for: {self.ports_silent}"
        if self.query.open:
            yield f"Not in Nova's databases: {'; '.join(self.query.open)}."
        if self._cut(candidates):
            yield (
                f"Placement has {candidates} hosts, and Nova asks for "
                f"{self.options.max_placement_results} ([scheduler]max_placement_results): its "
                "filters may see none of those that would pass."
            )
        for step in result.not_judged:
            doubts = (f"{counted(number, 'host')} ({why})" for why, number in step.open)
            yield f"Not judged, so counted as left: {step.name} for {', '.join(doubts)}."

    def verdict(self, result: Filtered, candidates: int) -> str:
        """How many hosts are left, or which filter left out the last; empty: one of Placement's."""
        if not candidates:
            return ""
        if result.left:
            unsure = result.not_judged or self.query.open or self._cut(candidates)
            most = "At most " if unsure else ""
            return f"{most}{result.left} of {candidates} hosts with candidates are left."
        last = next(step for step in result.steps if not step.left)
        return f"No host is left after {last.name}: it leaves out the last {last.lost}."

    def _cut(self, candidates: int) -> bool:
        """Whether Nova asks for fewer candidates than Placement has."""
        return self.query.limited and candidates > self.options.max_placement_results

    def code(self, result: Filtered) -> ExitCode:
        """The exit code of an answer."""
        if self.schedule.silent or (self.ports_silent and result.left):
            return ExitCode.INCOMPLETE
        return ExitCode.CLEAN if result.left else ExitCode.FINDINGS


@garbage_left()
def ask(nova_conf: Path | None, uuid: str, move: str | None, ports: Sequence[str]) -> AskedServer:
    """The query for a server, or for a move of it. Raises ServerRefused and CloudError.

    `ports` are the UUIDs of ports that it was to get.
    """
    options, nova, neutron = scheduler_of(nova_conf_of(nova_conf))
    with closing(nova):
        try:
            wanted = None if move is None else _move_of(move, nova)
            resized = wanted is not None and wanted.flavor is not None
            schedule = nova.schedule(uuid, resized=resized)
        except NotARequest as error:
            words = f"the request spec or the server group of {uuid} cannot be read: {error}"
            raise ServerRefused(words) from error
        if schedule is None:
            raise ServerRefused(
                f"Nova has no request spec of {uuid}. Check the UUID; Nova keeps none of a server "
                "that was archived."
            )
    silent = ""
    try:
        known = _ports(neutron, schedule.server, ports, moves=wanted is not None)
        schedule = replace(schedule, request=replace(schedule.request, ports=known))
    except (Unreachable, AccessDenied) as error:
        silent = error.reason
    try:
        if wanted is not None:
            schedule = _of_move(schedule, wanted, options)
        query = query_of(schedule.request, options, schedule.aggregates, schedule.hosts)
    except Refused as error:
        raise ServerRefused(
            f"Nova refuses it before it asks Placement: {in_words(error.reason)}"
        ) from error
    return AskedServer(schedule, options, query, silent, _refusal(schedule, wanted))


def _refusal(schedule: Schedule, move: Move | None) -> str:
    server, moment = schedule.server, now()
    if move is None or server is None:
        return ""
    mine = (host.service for host in schedule.hosts if host.host == server.host)
    found = {service.is_up(moment) for service in mine if service}
    return refusal(move, server, host_up=found.pop() if len(found) == 1 else None)


def _ports(
    neutron: Neutron | None, server: ScheduledServer | None, named: Sequence[str], *, moves: bool
) -> tuple[Port, ...] | None:
    """The ports of the server that request something; None: it is not known which it has.

    Raises ServerRefused, Unreachable, AccessDenied.
    """
    if neutron is None:
        if named:
            raise ServerRefused("--port needs an account for Neutron: nova.conf has no [neutron]")
        return None
    if named:
        found = neutron.ports_named({*named})
        if missing := {*named} - {port.id for port in found}:
            raise ServerRefused(f"Neutron has no port {', '.join(sorted(missing))}")
        return found
    # Neutron ties a port to a server only when the server gets its first host.
    if server is None or not (moves or server.host):
        return None
    return neutron.ports(devices=[server.uuid])


def _of_move(schedule: Schedule, move: Move, options: SchedulerOptions) -> Schedule:
    if schedule.server is None and schedule.silent:
        raise Unreachable(", ".join(schedule.silent), "the server may be there")
    if schedule.server is None:
        raise ServerRefused(f"{schedule.request.instance} cannot move: {_NOWHERE}")
    if schedule.server.vm_state == "deleted":
        raise ServerRefused(f"{schedule.request.instance} is deleted, so it cannot move")
    try:
        request = moved(schedule.request, move, schedule.server, options)
    except MoveImpossible as error:
        raise ServerRefused(f"Nova does not look for a host: {error}") from error
    return replace(schedule, request=request)


def _move_of(word: str, nova: NovaDatabases) -> Move:
    if word.startswith(_RESIZE):
        name = word.removeprefix(_RESIZE)
        flavors = nova.flavors_named(name)
        if len(flavors) != 1:
            raise NotOne("Nova", "flavor", name, len(flavors))
        return Move("resize", flavors[0])
    found = next((kind for kind in KINDS if kind == word and kind != "resize"), None)
    if found is None:
        raise ServerRefused(
            f"{word!r} is none of live-migration, resize:FLAVOR, evacuate, unshelve"
        )
    return Move(found)


def _changed(schedule: Schedule, since: datetime, writes: Writes) -> str:
    came = sum(host.made_at > since for host in schedule.hosts if host.made_at)
    went = sum(moment > since for moment in schedule.departures)
    return (
        f"Since then {counted(came, 'compute node')} came, {counted(went, 'compute node')} went. "
        f"Written in Placement: {counted(writes.consumers, 'consumer')}, and inventories of "
        f"{counted(writes.providers, 'provider')}."
    )


def _introduced(server: ScheduledServer) -> str:
    where = f" on {server.host}" if server.host and server.vm_state != "deleted" else ""
    fault = f": {server.fault!r} at {server.fault_at}" if server.fault else ""
    return f"{server.name or server.uuid} is {server.vm_state}{where}{fault}"
