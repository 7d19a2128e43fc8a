# SPDX-License-Identifier: Apache-2.0
"""trueup capacity: how many more servers fit, where, and what stands in the way."""

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from trueup.capacity import words
from trueup.capacity.after import after_repair, after_steps
from trueup.capacity.asked import (
    Asked,
    NotAskable,
    as_far_as_read,
    asked_of,
    asked_of_amounts,
    flavors_in_use,
)
from trueup.capacity.counting import Bind, Binding, By, Capacity, Later, capacity
from trueup.capacity.document import capacity_document, failures_document
from trueup.capacity.fragments import free_in
from trueup.capacity.mixing import Portion, mixed
from trueup.capacity.places import unknown_hosts
from trueup.capacity.relocation import Outcome, survived
from trueup.capacity.table import (
    FAILURES_COLUMNS,
    capacity_table,
    columns,
    failures_table,
    unusable_columns,
    unusable_table,
)
from trueup.capacity.what_if import WhatIf, assumed
from trueup.cli.counted import with_traits
from trueup.cli.documents import DocumentVerb
from trueup.cli.judging import add_audit_options, audit_options
from trueup.cli.sources import add_from_option
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import progress, say
from trueup.cli.verb import CloudVerb
from trueup.exit_codes import ExitCode
from trueup.model.names import MAX_INTEGER, is_resource_class
from trueup.reconcile.audit import Observation, observation
from trueup.reconcile.copies.snapshot import load
from trueup.reconcile.facts import Facts, Flavor
from trueup.reconcile.plan import refuse_foreign
from trueup.reconcile.plan.plan_file import load as load_plan
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.tables import Columns, Table
from trueup.reconcile.runs import Observer
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.verdicts import AuditOptions
from trueup.reconcile.wording import counted

# Moves of servers depend on these.
_ZONE_NOT_ASKED = "Not checked: the zone that a server was asked to be in."
_NOT_ASKED = "Not checked: server groups, and the zone that a server was asked to be in."
_COPIES_MAX = 10**6
Number = TypeVar("Number", int, float)
Kinds = tuple[Asked | NotAskable, ...]


class CapacityCommand(DocumentVerb, CloudVerb):
    """Say how many more servers of each flavor fit, on how many hosts, and after a repair.

    Each flavor is counted alone, by the search that answers Nova's scheduler. Nothing is written.
    """

    _made: Mapping[str, Any]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_question(parser)
        parser.add_argument(
            "--by",
            choices=[by.value for by in By],
            default=By.CLOUD.value,
            help="count in each of these groups of hosts (default: %(default)s)",
        )
        parser.add_argument(
            "--plan",
            metavar="FILE",
            type=Path,
            help="also count after this plan, a file of 'trueup plan --out'",
        )
        parser.add_argument(
            "--unusable",
            action="store_true",
            help="instead, what is free of each class and of no use for each flavor",
        )
        _add_assumptions(parser)
        add_audit_options(parser)
        add_from_option(parser)
        return parser

    def columns(self, arguments: argparse.Namespace) -> Columns:
        if arguments.survive:
            return FAILURES_COLUMNS
        if arguments.unusable:
            return unusable_columns(By(arguments.by))
        return columns(By(arguments.by), planned=arguments.plan is not None)

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        if sum(map(bool, (arguments.resources, arguments.flavors, arguments.mix))) > 1:
            raise OptionRefused("--resources", "name amounts, flavors or a mix, and only one")
        if arguments.mix:
            _amounts("--mix", arguments.mix)
        if arguments.resources:
            _resources(arguments.resources)
        elif arguments.traits:
            raise OptionRefused("--trait", "it is only of use with --resources")
        if arguments.survive is not None and arguments.survive < 1:
            raise OptionRefused("--survive", "name how many hosts fail together, 1 or more")
        if arguments.unusable and (arguments.survive or arguments.mix or arguments.plan):
            raise OptionRefused("--unusable", "leave out --survive, --mix and --plan")
        if arguments.volume and arguments.resources:
            raise OptionRefused("--volume", "it would be ignored: the amounts say what is asked")
        if arguments.survive:
            _refuse_of_new_servers(arguments)

    def act(self, arguments: argparse.Namespace) -> Table:
        plan = load_plan(arguments.plan) if arguments.plan else None
        options = audit_options(arguments)
        seen, kinds = gathered(
            self,
            arguments,
            options,
            lambda _, known: _asked(arguments, known),
            groups=bool(arguments.survive),
        )
        now = seen.facts
        if not now.coverage.complete:
            self.exit_code = ExitCode.INCOMPLETE
        if plan is not None:
            refuse_foreign(plan, now.cells)
        facts = under(arguments, now)
        if arguments.survive:
            return self._survive(facts, arguments)
        repaired = after_repair(now, seen.audit)
        later = Later(
            under(arguments, repaired) if repaired else None,
            under(arguments, after_steps(now, plan.steps)) if plan else None,
        )
        found = _counted(kinds, facts, later, arguments)
        tell(found, facts)
        complete = facts.coverage.complete
        self._made = capacity_document(found, facts.taken_at, complete, version("trueup"))
        if arguments.unusable:
            return unusable_table(found)
        return capacity_table(found, planned=plan is not None)

    def _survive(self, facts: Facts, arguments: argparse.Namespace) -> Table:
        failures = survived(facts, arguments.survive, By(arguments.by))
        outcomes = Counter(failure.outcome for failure in failures)
        absorbed, perhaps = outcomes[Outcome.ABSORBED], outcomes[Outcome.UNCERTAIN]
        say(f"{absorbed} of {counted(len(failures), 'failure')} can be absorbed.")
        if perhaps:
            say(f"Perhaps {perhaps} more. Not checked for some servers: {words.open_in(failures)}.")
        moves = (move for failure in failures for move in failure.moves)
        tell_without_pcpu(move.binds or {} for move in moves)
        tell_not_asked(facts)
        tell_unread(facts)
        if outcomes[Outcome.LOST] and self.exit_code is ExitCode.CLEAN:
            self.exit_code = ExitCode.FINDINGS
        self._made = failures_document(failures, facts, version("trueup"))
        return failures_table(failures)

    def document(self) -> Mapping[str, Any]:
        return self._made


def _refuse_of_new_servers(arguments: argparse.Namespace) -> None:
    """Raise OptionRefused beside --survive for what is about new servers, or about a repair."""
    asked = arguments.flavors or arguments.resources or arguments.mix or arguments.plan
    if asked or arguments.volume:
        raise OptionRefused(
            "--survive",
            "it is about the servers that there are; leave out "
            "--flavor, --resources, --mix, --plan and --volume",
        )
    usual = AuditOptions()
    judged = {
        "--grace": arguments.grace != usual.grace_seconds,
        "--stuck-after": arguments.stuck_after != usual.stuck_seconds,
    }
    for option in (option for option, given in judged.items() if given):
        raise OptionRefused(option, "it would be ignored: --survive counts after no repair")


def _counted(kinds: Kinds, facts: Facts, later: Later, arguments: argparse.Namespace) -> Capacity:
    by = By(arguments.by)
    asked = tuple(kind for kind in kinds if isinstance(kind, Asked))
    refused = tuple(kind for kind in kinds if isinstance(kind, NotAskable))
    if not arguments.mix:
        found, free = capacity(asked, facts, by, later), free_in(facts, by)
        return replace(found, not_askable=refused, free=free)
    if refused:
        why = in_words(refused[0].reason)
        words = f"{refused[0].name}: no server can be made with it: {why}"
        raise OptionRefused("--mix", words)
    numbers = _amounts("--mix", arguments.mix)
    return mixed([Portion(kind, numbers[kind.name]) for kind in asked], facts, by, later)


def _add_question(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is counted", "Without these: every flavor.")
    group.add_argument(
        "--flavor",
        dest="flavors",
        metavar="NAME",
        action="append",
        default=[],
        help="only this flavor; may be given several times",
    )
    group.add_argument(
        "--mix",
        metavar="FLAVOR=N,…",
        help="servers of several flavors in turn, as m1.large=3,m1.small=1",
    )
    group.add_argument(
        "--resources",
        metavar="CLASS=N,…",
        help="servers that ask for these amounts, as VCPU=4,MEMORY_MB=8192",
    )
    group.add_argument(
        "--trait",
        dest="traits",
        metavar="NAME",
        action="append",
        default=[],
        help="with --resources: a trait that the host must have; may be given several times",
    )
    group.add_argument(
        "--volume", action="store_true", help="the root disks of the flavors are volumes"
    )


def _add_assumptions(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what if")
    group.add_argument(
        "--survive",
        metavar="N",
        type=int,
        help="instead, say which failures of N hosts leave servers without a place",
    )
    group.add_argument(
        "--without",
        metavar="HOST",
        action="append",
        default=[],
        help="this host gets no servers; may be given several times",
    )
    group.add_argument(
        "--with",
        dest="more",
        metavar="HOST=N",
        action="append",
        default=[],
        help="N more hosts like this one, with nothing on them; may be given several times",
    )
    group.add_argument(
        "--ratio",
        metavar="CLASS=X",
        action="append",
        default=[],
        help="the allocation ratio of a resource class on all hosts; may be given several times",
    )
    group.add_argument(
        "--reserved",
        metavar="CLASS=N",
        action="append",
        default=[],
        help="how much of a resource class is reserved on each host; may be given several times",
    )


def under(arguments: argparse.Namespace, facts: Facts) -> Facts:
    """The facts under the assumptions that the options make. Raises OptionRefused."""
    what = WhatIf(
        without=tuple(arguments.without),
        more=_numbers("--with", arguments.more, int, most=_COPIES_MAX),
        ratios=_numbers("--ratio", arguments.ratio, float),
        reserved=_numbers("--reserved", arguments.reserved, int),
    )
    known = {row.host for row in facts.compute_nodes}
    for name in (*what.without, *what.more):
        if name not in known:
            raise OptionRefused("--without or --with", no_host(name, facts))
    trees = (row for root in facts.nodes_by_uuid for row in facts.trees.get(root, ()))
    classes = {name for row in trees for name in row.inventories}
    for name in (*what.ratios, *what.reserved):
        if name not in classes:
            words = f"no compute host has {name}; known: {', '.join(sorted(classes))}"
            raise OptionRefused("--ratio or --reserved", words)
    return assumed(facts, what)


def _numbers(
    option: str,
    words: Iterable[str],
    kind: Callable[[str], Number],
    least: int = 0,
    most: int = MAX_INTEGER,
) -> dict[str, Number]:
    """What NAME=NUMBER says, in this order. Raises OptionRefused."""
    found: dict[str, Number] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        try:
            value = kind(number if name else "")
        except ValueError as error:
            raise OptionRefused(option, f"{word!r} is not NAME=NUMBER") from error
        if not least <= value <= most:
            allowed = f"name a number from {least} to {most}"
            raise OptionRefused(option, f"{number} makes no sense; {allowed}")
        if name in found:
            raise OptionRefused(option, f"{name} is named twice")
        found[name] = value
    return found


def _amounts(option: str, text: str) -> dict[str, int]:
    """What NAME=N,… says, in its order. Raises OptionRefused.

    PARITY: the name of a flavor may have a comma; so only one after a number ends a pair.
    """
    return _numbers(option, re.sub("(=[^,]*),", r"\1\n", text).split("\n"), int, least=1)


def _resources(text: str) -> dict[str, int]:
    """Raises OptionRefused."""
    found = _amounts("--resources", text)
    if strange := [name for name in found if not is_resource_class(name)]:
        raise OptionRefused("--resources", f"{strange[0]!r} is no resource class, as VCPU is")
    return found


def gathered(
    command: CloudVerb,
    arguments: argparse.Namespace,
    options: AuditOptions,
    ask: Callable[[Facts, Iterable[Flavor]], Kinds],
    *,
    groups: bool,
) -> tuple[Observation, Kinds]:
    """The cloud, or the snapshot of --from, and the kinds of servers that `ask` makes of it.

    Over Placement's API, providers get the traits that these kinds name. `groups`: server groups
    are read as well; a snapshot has none.
    """
    if arguments.snapshot:
        seen = observation(load(arguments.snapshot).facts, options)
        kinds = ask(seen.facts, flavors_in_use(seen.facts))
        return seen, tuple(as_far_as_read(kind, seen.facts) for kind in kinds)
    with command.cloud(arguments) as cloud, progress() as report:
        seen = Observer(cloud, options, report).observe()
        kinds = ask(seen.facts, cloud.nova.flavors())
        facts = with_traits(cloud, seen.facts, kinds)
        try:
            known = cloud.nova.server_groups() if groups else None
        except (Unreachable, AccessDenied) as silence:
            say(f"Server groups were not read: {silence.reason}")
            command.exit_code, known = ExitCode.INCOMPLETE, None
        return replace(seen, facts=replace(facts, server_groups=known)), kinds


def _asked(arguments: argparse.Namespace, flavors: Iterable[Flavor]) -> Kinds:
    """Raises OptionRefused for a flavor that nobody knows."""
    if arguments.resources:
        return (asked_of_amounts(_resources(arguments.resources), arguments.traits),)
    known = {flavor.name: flavor for flavor in flavors}
    named: Iterable[str] = arguments.flavors
    if arguments.mix:
        named = _amounts("--mix", arguments.mix)
    if unknown := [name for name in named if name not in known]:
        option = "--mix" if arguments.mix else "--flavor"
        names = ", ".join(sorted(known)) or "there is none"
        raise OptionRefused(option, f"{unknown[0]} is no flavor; known: {names}")
    chosen = dict.fromkeys(named) or sorted(known)
    return tuple(asked_of(known[name], {}, volume_backed=arguments.volume) for name in chosen)


def tell_not_asked(facts: Facts) -> None:
    """What Nova's scheduler looks at as well when a server moves."""
    say(_NOT_ASKED if facts.server_groups is None else _ZONE_NOT_ASKED)


def tell_without_pcpu(binds: Iterable[Mapping[Binding, int]]) -> None:
    """That Nova may do without PCPU, where that keeps servers away."""
    if any((Bind.CLASS, "PCPU") in row for row in binds):
        say(words.WITHOUT_PCPU)


def tell_unread(facts: Facts) -> None:
    """That not all was read, and why; nothing if it was."""
    if facts.coverage.complete:
        return
    gap, number = in_words(facts.coverage.gap), len(unknown_hosts(facts))
    if number:
        providers = counted(number, "provider")
        say(f"Not counted: {providers} whose hosts were not read, because {gap}.")
    else:
        say(f"Not all was read, because {gap}.")


def no_host(name: str, facts: Facts) -> str:
    """That no compute host has this name, as far as they were read."""
    known = ", ".join(sorted({row.host for row in facts.compute_nodes}))
    unread = "" if facts.coverage.complete else f", and not all: {in_words(facts.coverage.gap)}"
    return f"{name} is no compute host; known: {known}{unread}"


def tell(found: Capacity, facts: Facts) -> None:
    """How it was counted, which hosts were left out, and what was not counted."""
    say(words.policy(found))
    gaps = {row.asked.name: row.gaps for row in found.rows if row.gaps}
    if found.mix:
        fits = "fits at most" if gaps else "fits"
        for group, times in words.whole_mixes(found).items():
            say(f"{group or 'In all'}: the whole mix {fits} {counted(times, 'time')}.")
    if left_out := words.left_out(found):
        say(left_out)
    tell_unread(facts)
    tell_without_pcpu(row.binds for row in found.rows)
    for name, open_gaps in gaps.items():
        say(f"{name}: at most so many, because this is not counted: {words.not_counted(open_gaps)}")
    for refused in found.not_askable:
        say(f"{refused.name}: no server can be made with it: {in_words(refused.reason)}")
