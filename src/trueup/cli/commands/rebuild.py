# SPDX-License-Identifier: Apache-2.0
"""trueup rebuild: a new Placement database, from what Nova, Neutron and the old ledger say."""

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trueup.cli.fill import (
    consumers_to_fill,
    copy_of,
    holds,
    ledger_in,
    new_database,
    providers_to_fill,
)
from trueup.cli.judging import add_audit_options, audit_options, verdict
from trueup.cli.outcomes import confirm
from trueup.cli.terminal.given import complete
from trueup.cli.terminal.options import OptionRefused, nova_conf_of
from trueup.cli.terminal.progress import Report, progress, say
from trueup.cli.verb import CloudVerb
from trueup.exit_codes import ExitCode
from trueup.placement.manage.fill import fill_database, has_ledger, is_same, make_schema
from trueup.placement.store.fill import LedgerThere, NotOfPlacement
from trueup.reconcile.audit import Audit, audit, observation
from trueup.reconcile.collect import collect
from trueup.reconcile.copies.ledger_copy import save
from trueup.reconcile.facts import Facts, Hardware, Holding, HostDefaults
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.rebuild import (
    REASON_COLUMNS,
    REBUILD_COLUMNS,
    UNREPORTED_COLUMNS,
    reasons_table,
    rebuild_table,
    unreported_table,
)
from trueup.reconcile.report.tables import Columns, Table
from trueup.reconcile.rules.freshness import with_freshness
from trueup.reconcile.runbooks.rebuild import (
    ASSUMED,
    HostsOfNova,
    NotAsWritten,
    Rebuilt,
    TargetForeign,
    TargetNotEmpty,
    rebuilt,
    refuse_faulty,
    refuse_incomplete,
    strangers_in,
    unreported,
)
from trueup.reconcile.runbooks.rebuild_gaps import gaps
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import host_defaults, placement_database
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.nova.databases import NovaDatabases
from trueup.reconcile.sources.placement.contract import Ledger
from trueup.reconcile.sources.placement.database import PlacementDatabase
from trueup.reconcile.sources.placement.loaded import EmptyLedger
from trueup.reconcile.wording import counted

_SECONDS_BETWEEN_CHECKS = 5.0
_RESERVED = {
    "reserved_host_cpus": "--reserved-host-cpus",
    "reserved_host_memory_mb": "--reserved-host-memory-mb",
    "reserved_host_disk_mb": "--reserved-host-disk-mb",
}
_DATABASES_NEEDED = (
    "a rebuild reads Nova's databases: its API does not tell the allocation ratios of hosts, nor "
    "what is deleted. Leave it out, and name a nova.conf with --nova-conf, or Nova's API database "
    "with --nova-database"
)


class RebuildCommand(CloudVerb):
    """Make a new Placement database from Nova, Neutron and the old ledger.

    Every difference is shown with its reason. The old database is only read."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_audit_options(parser)
        _add_rebuild_options(parser)
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        old = arguments.placement_database or arguments.placement_conf
        if arguments.nova_api:
            raise OptionRefused("--nova-api", _DATABASES_NEEDED)
        if arguments.into == arguments.placement_database:
            raise OptionRefused("--into", "it is the old database; name a new, empty one")
        if arguments.check_only:
            _refuse_with_check(arguments)
        elif not old and not arguments.lost:
            raise OptionRefused(
                "--placement-database",
                "the old ledger is read from its database; name it, or say --lost if it is gone",
            )
        elif old and arguments.lost:
            raise OptionRefused("--lost", "an old database is named as well; leave one of them out")
        elif arguments.backup and arguments.lost:
            raise OptionRefused(
                "--backup", "there is no old ledger to keep with --lost; leave it out"
            )
        _refuse_without_apply(arguments)
        if arguments.wait and not arguments.check_only:
            raise OptionRefused("--wait", "it is for --check; leave it out")

    def columns(self, arguments: argparse.Namespace) -> Columns:
        if arguments.check_only:
            return UNREPORTED_COLUMNS
        return REASON_COLUMNS if arguments.by_reason else REBUILD_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        if arguments.backup:
            refuse_unwritable(arguments.backup)
        with self.cloud(arguments) as cloud, progress() as report:
            if arguments.check_only:
                return self._checked(cloud, arguments, report)
            # The old ledger is often one that no service serves any more.
            old = cloud.placement.of_any_ledger()
            if arguments.lost:
                old = cloud.placement.reading(EmptyLedger())
            cloud = replace(cloud, placement=old)
            facts = collect(cloud, report)
            made = self._rebuilt(cloud, facts, arguments)
            self.exit_code = ExitCode.INCOMPLETE if made.gaps else ExitCode.FINDINGS
            if arguments.apply:
                confirm(arguments, f"Write a new ledger to {_shown(arguments.into)}?")
                self._write(facts, made, arguments)
        if not arguments.apply:
            say("Nothing is written. Next: the same with --apply")
        return reasons_table(made.lines) if arguments.by_reason else rebuild_table(made.lines)

    def _rebuilt(self, cloud: Cloud, facts: Facts, arguments: argparse.Namespace) -> Rebuilt:
        refuse_incomplete(facts, audit_options(arguments))
        refuse_faulty(facts)
        hosts = HostsOfNova(_hardware(cloud), _defaults(arguments))
        made = rebuilt(facts, hosts, _strangers(cloud, facts), audit_options(arguments))
        if any(line.reason == ASSUMED for line in made.lines):
            say(f"Assumed of hosts without inventory: {hosts.defaults.words}.")
        say(
            f"Old: {counted(len(facts.providers), 'provider')}, "
            f"{counted(len(facts.consumers), 'consumer')}. "
            f"New: {counted(len(made.facts.providers), 'provider')}, "
            f"{counted(len(made.allocations), 'consumer')}. "
            f"{counted(len(made.lines), 'line')} below."
        )
        if made.gaps:
            say(f"{len(made.gaps)} of them could not be checked.")
        return made

    def _write(self, facts: Facts, made: Rebuilt, arguments: argparse.Namespace) -> None:
        """Keep the old ledger in a file, and fill the new database.

        Raises TargetForeign and TargetNotEmpty before anything is written.
        """
        _refuse_the_old(arguments)
        is_done = _is_done(arguments.into, made)
        if arguments.backup:
            save(copy_of(facts), arguments.backup)
            say(f"The old ledger is kept in {arguments.backup}; 'trueup ledger import' reads it.")
        if is_done or not _filled(arguments.into, made):
            say("The new database holds this ledger already; nothing is written.")
        found = ledger_in(arguments.into)
        if not holds(found, made):
            raise NotAsWritten
        result = _audited(made, found, arguments)
        said = counted(len(result.findings), "finding")
        if made.gaps:
            said += f", and {len(made.gaps)} of the lines below could not be checked"
        say(f"Read again: it holds what was computed. An audit of it has {said}.")
        if made.gaps:
            # SAFETY: Placement would give what an instance uses to others.
            say("Read those lines first: what such an instance uses may be free in the new ledger.")
        _tell_cut_over(arguments)
        self.exit_code = verdict(result, bool(result.findings))
        if made.gaps:
            self.exit_code = ExitCode.INCOMPLETE

    def _checked(self, cloud: Cloud, arguments: argparse.Namespace, report: Report) -> Table:
        """Wait until every nova-compute has reported to the new database, or the time is over."""
        database = PlacementDatabase(arguments.into)
        until = time.monotonic() + arguments.wait
        try:
            while True:
                facts = collect(replace(cloud, placement=cloud.placement.reading(database)), report)
                missing = list(unreported(facts))
                left = until - time.monotonic()
                if not missing or left <= 0:
                    break
                say(f"{counted(len(missing), 'compute node')} to report; {left:.0f} s left.")
                time.sleep(min(left, _SECONDS_BETWEEN_CHECKS))
        finally:
            database.close()
        seen = observation(facts, audit_options(arguments))
        found = seen.audit
        say(
            f"{counted(len(missing), 'compute node')} of {len(facts.compute_nodes)} did not report "
            f"yet; an audit of the new ledger has {counted(len(found.findings), 'finding')}."
        )
        if silence := found.coverage.gap:
            say(f"Not all was read, because {in_words(silence)}: there may be more of both.")
        self.exit_code = verdict(found, bool(missing or found.findings))
        for gap in gaps(seen.facts, facts, found, {}):
            say(f"{gap.kind} {gap.uuid} {in_words(gap.reason)}")
            self.exit_code = ExitCode.INCOMPLETE
        return unreported_table(missing)


def _hardware(cloud: Cloud) -> dict[str, Hardware]:
    assert isinstance(cloud.nova, NovaDatabases)
    rows = [cloud.nova.hardware(cell) for cell in cloud.nova.cells()]
    return {uuid: hardware for found in rows for uuid, hardware in found.items()}


def _defaults(arguments: argparse.Namespace) -> HostDefaults:
    """What nova.conf says, and what the options say in place of it."""
    path = None if arguments.nova_database else nova_conf_of(arguments.nova_conf)
    known = host_defaults(path) if path else HostDefaults()
    named = {name: getattr(arguments, name) for name in _RESERVED}
    return replace(known, **{name: value for name, value in named.items() if value is not None})


def _strangers(cloud: Cloud, facts: Facts) -> Mapping[str, Holding]:
    """Owner and type of consumers that no cell knows, from the API of the old Placement."""
    uuids = strangers_in(facts)
    if not uuids:
        return {}
    try:
        return cloud.placement.holdings(uuids)
    except (Unreachable, AccessDenied) as silence:
        say(f"The types of {counted(len(uuids), 'consumer')} are not known: {silence.reason}")
        return {}


def _refuse_the_old(arguments: argparse.Namespace) -> None:
    """Raise OptionRefused if the new database is the old one by another address, or a copy of it.

    SAFETY: one that holds what was computed counts as filled before, and to cut over to it would be
    to change nothing.
    """
    old = arguments.placement_database
    if arguments.placement_conf:
        old = placement_database(arguments.placement_conf)
    with new_database():
        is_old = old is not None and is_same(old, arguments.into)
    if is_old:
        raise OptionRefused(
            "--into",
            "it is the old database by another address, or a copy of it; name a new, empty one. "
            "Nothing is written",
        )


def _is_done(url: str, made: Rebuilt) -> bool:
    """Whether a database holds the new ledger; else it holds none.

    SAFETY: nothing is written. The database may be somebody else's, or the one that is in use.

    Raises TargetForeign, and TargetNotEmpty if it holds another ledger.
    """
    try:
        with new_database():
            if not has_ledger(url):
                return False
    except NotOfPlacement as error:
        raise TargetForeign(error.tables) from error
    found = ledger_in(url)
    if not holds(found, made):
        raise TargetNotEmpty(len(found.providers), len(found.consumers))
    return True


def _filled(url: str, made: Rebuilt) -> bool:
    """Fill a database; False if somebody else has just filled it with the same ledger.

    Raises TargetNotEmpty if it is another one, and TargetForeign.
    """
    try:
        with new_database():
            make_schema(url)
            fill_database(url, providers_to_fill(made), consumers_to_fill(made))
    except NotOfPlacement as error:
        raise TargetForeign(error.tables) from error
    except LedgerThere:
        return not _is_done(url, made)
    return True


def _audited(made: Rebuilt, found: Ledger, arguments: argparse.Namespace) -> Audit:
    """The audit of the new ledger as it was read from its database."""
    facts = replace(
        made.facts,
        providers=found.providers,
        consumers=found.consumers,
        owners=found.owners or {},
        ledger_faults=found.faults,
    )
    options = audit_options(arguments)
    return audit(with_freshness(facts, options), options)


def _tell_cut_over(arguments: argparse.Namespace) -> None:
    old = arguments.placement_database
    say("To cut over, in placement.conf of every Placement server, then restart it:")
    say(f"  [placement_database] connection = {_shown(arguments.into)}")
    back = _shown(old) if old else "what it is now"
    say(f"The way back: connection = {back}. The old database is as it was.")
    check = complete("trueup rebuild --check --into URL --wait 600")
    say(f"Then: {check}, and trueup plan for what is left.")


def _shown(url: str) -> str:
    """A URL without its password."""
    before, at, after = url.rpartition("@")
    if not at:
        return url
    scheme, _, who = before.partition("://")
    return f"{scheme}://{who.partition(':')[0]}:***@{after}"


def _refuse_with_check(arguments: argparse.Namespace) -> None:
    given = {
        "--apply": arguments.apply,
        "--yes": arguments.yes,
        "--lost": arguments.lost,
        "--backup": arguments.backup,
        "--by-reason": arguments.by_reason,
        "--placement-database": arguments.placement_database,
        "--placement-conf": arguments.placement_conf,
    } | {option: getattr(arguments, name) is not None for name, option in _RESERVED.items()}
    for option, value in given.items():
        if value:
            raise OptionRefused(option, "--check only looks at the new database; leave it out")


def _refuse_without_apply(arguments: argparse.Namespace) -> None:
    given = {"--yes": arguments.yes, "--backup": arguments.backup}
    for option, value in given.items():
        if value and not arguments.apply:
            raise OptionRefused(option, "it would be ignored: nothing is written without --apply")


def _add_rebuild_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--into", metavar="URL", required=True, help="the new database, which exists and is empty"
    )
    parser.add_argument(
        "--lost", action="store_true", help="there is no old ledger; hosts are taken from Nova"
    )
    parser.add_argument("--apply", action="store_true", help="fill the new database")
    parser.add_argument("--yes", action="store_true", help="with --apply, write without asking")
    parser.add_argument(
        "--backup", metavar="FILE", type=Path, help="with --apply, keep the old ledger in a file"
    )
    parser.add_argument("--by-reason", action="store_true", help="count the lines for each reason")
    parser.add_argument(
        "--check",
        dest="check_only",
        action="store_true",
        help="after the cut-over: which nova-compute has not reported to the new database yet",
    )
    parser.add_argument(
        "--wait", metavar="SECONDS", type=float, default=0.0, help="how long --check waits for them"
    )
    for name, option in _RESERVED.items():
        parser.add_argument(
            option,
            dest=name,
            metavar="NUMBER",
            type=int,
            help=f"{name} of the hosts, instead of the value in nova.conf",
        )
