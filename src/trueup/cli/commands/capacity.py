# SPDX-License-Identifier: Apache-2.0
"""trueup capacity: how many more servers fit, where, and what stands in the way."""

import argparse
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trueup.capacity import words
from trueup.capacity.after import after_repair, after_steps
from trueup.capacity.asked import (
    Asked,
    NotAskable,
    asked_of,
    asked_of_amounts,
    flavors_in_use,
    traits_wanted,
    without_traits,
)
from trueup.capacity.counting import By, Capacity, Later, capacity
from trueup.capacity.document import capacity_document
from trueup.capacity.table import capacity_table, columns
from trueup.cli.documents import DocumentVerb
from trueup.cli.judging import add_audit_options, audit_options
from trueup.cli.sources import add_from_option
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import progress, say
from trueup.cli.verb import CloudVerb
from trueup.exit_codes import ExitCode
from trueup.model.names import is_resource_class
from trueup.reconcile.audit import Observation, observation
from trueup.reconcile.copies.snapshot import load
from trueup.reconcile.facts import PLACEMENT, Facts, Flavor
from trueup.reconcile.plan import refuse_foreign
from trueup.reconcile.plan.plan_file import load as load_plan
from trueup.reconcile.report.tables import Columns, Table
from trueup.reconcile.runs import Observer
from trueup.reconcile.wording import counted


@dataclass(frozen=True, slots=True)
class Seen:
    """What capacity is counted from, and what is counted."""

    observation: Observation
    asked: tuple[Asked, ...]
    refused: tuple[NotAskable, ...]


class CapacityCommand(DocumentVerb, CloudVerb):
    """Say how many more servers of each flavor fit, on how many hosts, and after a repair.

    Each flavor is counted alone, by the search that answers Nova's scheduler. Nothing is written.
    """

    _found: Capacity
    _facts: Facts

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_question(parser)
        parser.add_argument(
            "--by",
            choices=[one.value for one in By],
            default=By.CLOUD.value,
            help="count in each of these groups of hosts (default: %(default)s)",
        )
        parser.add_argument(
            "--plan",
            metavar="FILE",
            type=Path,
            help="also count after this plan, a file of 'trueup plan --out'",
        )
        add_audit_options(parser)
        add_from_option(parser)
        return parser

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return columns(By(arguments.by), planned=arguments.plan is not None)

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        if arguments.resources and arguments.flavors:
            raise OptionRefused("--resources", "name amounts or flavors, and not both")
        if arguments.resources:
            _amounts(arguments.resources)
        elif arguments.traits:
            raise OptionRefused("--trait", "it is only of use with --resources")

    def act(self, arguments: argparse.Namespace) -> Table:
        plan = load_plan(arguments.plan) if arguments.plan else None
        seen = seen_by(self, arguments)
        facts = self._facts = seen.observation.facts
        if plan is not None:
            refuse_foreign(plan, facts.cells)
        later = Later(
            after_repair(facts, seen.observation.audit),
            after_steps(facts, plan.steps) if plan else None,
        )
        found = capacity(seen.asked, facts, By(arguments.by), later)
        self._found = replace(found, not_askable=seen.refused)
        tell(self._found, facts)
        if not facts.coverage.complete:
            self.exit_code = ExitCode.INCOMPLETE
        return capacity_table(self._found, planned=plan is not None)

    def document(self) -> Mapping[str, Any]:
        facts = self._facts
        complete = facts.coverage.complete
        return capacity_document(self._found, facts.taken_at, complete, version("trueup"))


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


def _amounts(text: str) -> dict[str, int]:
    """Raises OptionRefused."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, amount = part.partition("=")
        if not is_resource_class(name) or not amount.isdecimal() or not int(amount):
            raise OptionRefused("--resources", f"{part!r} is not CLASS=N, as in VCPU=4")
        found[name] = int(amount)
    return found


def seen_by(command: CloudVerb, arguments: argparse.Namespace) -> Seen:
    """The cloud, or the snapshot of --from, and what is to be counted of it.

    Raises OptionRefused for a flavor that nobody knows.
    """
    options = audit_options(arguments)
    if arguments.snapshot:
        seen = observation(load(arguments.snapshot).facts, options)
        asked, refused = _asked(arguments, flavors_in_use(seen.facts))
        if _read_by_api(seen.facts):
            asked = tuple(without_traits(one) for one in asked)
        return Seen(seen, asked, refused)
    with ExitStack() as stack:
        cloud = stack.enter_context(command.cloud(arguments))
        report = stack.enter_context(progress())
        seen = Observer(cloud, options, report).observe()
        asked, refused = _asked(arguments, cloud.nova.flavors())
        if _read_by_api(seen.facts):
            wanted = traits_wanted(asked)
            providers = cloud.placement.with_traits(seen.facts.providers, wanted)
            seen = replace(seen, facts=replace(seen.facts, providers=providers))
    return Seen(seen, asked, refused)


def _read_by_api(facts: Facts) -> bool:
    """Whether providers have only a few of their traits."""
    return any(row.source == PLACEMENT and row.read_via == "API" for row in facts.coverage.sources)


def _asked(
    arguments: argparse.Namespace, flavors: Iterable[Flavor]
) -> tuple[tuple[Asked, ...], tuple[NotAskable, ...]]:
    if arguments.resources:
        return (asked_of_amounts(_amounts(arguments.resources), arguments.traits),), ()
    known = {one.name: one for one in flavors}
    if unknown := [name for name in arguments.flavors if name not in known]:
        names = ", ".join(sorted(known)) or "there is none"
        raise OptionRefused("--flavor", f"{unknown[0]} is no flavor; known: {names}")
    chosen = arguments.flavors or sorted(known)
    found = [asked_of(known[name], {}, volume_backed=arguments.volume) for name in chosen]
    return (
        tuple(one for one in found if isinstance(one, Asked)),
        tuple(one for one in found if isinstance(one, NotAskable)),
    )


def tell(found: Capacity, facts: Facts) -> None:
    """How it was counted, which hosts were left out, and what was not counted."""
    say(words.POLICY)
    if left_out := words.left_out(found):
        say(left_out)
    if found.unknown_hosts:
        number = counted(len(found.unknown_hosts), "provider")
        say(f"Not counted: {number} whose hosts were not read, because {facts.coverage.gap}.")
    gaps = {row.asked.name: row.gaps for row in found.rows if row.gaps}
    for name, open_gaps in gaps.items():
        say(f"{name}: at most so many, because this is not counted: {words.not_counted(open_gaps)}")
    for one in found.not_askable:
        say(f"{one.name}: Nova refuses a server with it: {one.reason}")
