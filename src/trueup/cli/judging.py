# SPDX-License-Identifier: Apache-2.0
"""How commands judge a cloud: the options of an audit, its summary, and its exit code."""

import argparse
import os
from pathlib import Path

from trueup.cli.terminal.progress import say
from trueup.exit_codes import ExitCode
from trueup.reconcile.audit import Audit
from trueup.reconcile.clock import now
from trueup.reconcile.facts import LIBVIRT, NEUTRON, PLACEMENT, SourceStatus, grouped
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.verdicts import Acknowledgement, AuditOptions, Need, Scope, names_of
from trueup.reconcile.verdicts.acknowledgement_file import load
from trueup.reconcile.wording import counted

# Beside the other configuration of the cloud.
ACKNOWLEDGED = Path("/etc/trueup/acknowledged.toml")
# What a defect may lack because nobody asked for it.
_BY_CHOICE = frozenset({Need.HYPERVISORS, Need.PORTS, Scope.WHOLE_CLOUD})
# How many rows that were not understood are shown for each source.
UNREAD_SHOWN_MAX = 10
# What the rows of a source are; of others they are rows of several tables.
_COUNTED = {PLACEMENT: "provider", NEUTRON: "port", LIBVIRT: "domain"}


def verdict(result: Audit, work: bool) -> ExitCode:
    """The exit code of an observation. Incomplete evidence comes first: it must not look complete.

    `work` says whether there is anything to do among what is shown.
    """
    if result.incomplete:
        return ExitCode.INCOMPLETE
    return ExitCode.FINDINGS if work else ExitCode.CLEAN


def summarize(result: Audit, hidden: int = 0, right: int | None = None) -> None:
    """Two lines: who answered, and how many verdicts of each kind.

    `hidden` findings are not shown because of filters; `right` instances hold what they should, if
    that was counted.
    """
    answered = [answer for answer in result.coverage.sources if answer.answered]
    told = [row for row in answered if not _may_be_silent(row)]
    say("Answered: " + ", ".join(f"{row.source} ({_size(row)})" for row in told))
    for answer in result.coverage.missing:
        say(f"Did not answer: {answer.source}: {answer.reason}")
    for answer in result.coverage.behind:
        say(f"May be behind: {answer.source}: {in_words(answer.lag)}")
    for answer in answered:
        _tell_gaps(answer)
    for lacks, defects in grouped((row.lacks, row.defect) for row in result.not_judged).items():
        if lacks not in _BY_CHOICE:
            say(f"Not judged without {lacks}: {', '.join(defects)}")
    more = {
        "not shown": hidden,
        "muted": len(result.muted),
        "acknowledged": len(result.acknowledged),
    }
    say(
        f"{counted(len(result.findings) - hidden, 'finding')}, "
        f"{len(result.unchecked) + len(result.coverage.missing)} could not be checked, "
        f"{len(result.left_alone)} left alone"
        + (f", {len(result.hanging)} cannot end by themselves" if result.hanging else "")
        + "".join(f", {number} {words}" for words, number in more.items() if number)
        + ("." if right is None else f", {right} right.")
    )


def _may_be_silent(answer: SourceStatus) -> bool:
    """Whether no hypervisor need have answered: of those that did not, it is said below."""
    return answer.source == LIBVIRT and not answer.rows and bool(answer.unsupported)


def _size(answer: SourceStatus) -> str:
    """How much a source answered, in what it has: `3 providers`."""
    return counted(answer.rows, _COUNTED.get(answer.source, "row"))


def _tell_gaps(answer: SourceStatus) -> None:
    """Print what an answer lacks: the first rows that were not understood, and their number."""
    if answer.unread_rows:
        lost = f", {answer.lost_rows} of them not at all" if answer.lost_rows else ""
        say(f"Not understood in {answer.source}: {answer.unread_rows} values{lost}.")
    for row in answer.unread[:UNREAD_SHOWN_MAX]:
        say(f"  {row.table} {row.row} {row.column or '(the whole row)'}: {row.reason}")
    if len(answer.unread) > UNREAD_SHOWN_MAX:
        say("  … and more: 'trueup audit --save FILE' keeps them.")
    for reason, gaps in grouped((gap.reason, gap.what) for gap in answer.unsupported).items():
        say(f"Not read from {answer.source}: {', '.join(gaps)} ({reason})")


def audit_options(arguments: argparse.Namespace) -> AuditOptions:
    """What --grace, --stuck-after and --acknowledged say. Raises AcknowledgementsUnreadable."""
    acknowledgements, cells = _acknowledged(arguments.acknowledged)
    return AuditOptions(
        grace_seconds=arguments.grace,
        acknowledgements=acknowledgements,
        cells_allowed_behind=cells,
        stuck_seconds=arguments.stuck_after,
    )


def default_options() -> AuditOptions:
    """As without any option. Raises AcknowledgementsUnreadable."""
    acknowledgements, cells = _acknowledged(None)
    return AuditOptions(acknowledgements=acknowledgements, cells_allowed_behind=cells)


def _acknowledged(named: Path | None) -> tuple[tuple[Acknowledgement, ...], frozenset[str]]:
    """Every acknowledgement, and the cells that may lag behind."""
    path = named or _acknowledged_path()
    found = load(path) if path else ()
    return found, names_of(found, "lagging-replica", now().date())


def acknowledged_file(named: Path | None) -> Path:
    """The file of acknowledgements to add to, which need not exist yet."""
    return named or _acknowledged_path() or ACKNOWLEDGED


def _acknowledged_path() -> Path | None:
    """The file that is used when none is named; None if there is none."""
    if named := os.environ.get("TRUEUP_ACKNOWLEDGED"):
        return Path(named)
    return ACKNOWLEDGED if ACKNOWLEDGED.exists() else None


def add_audit_options(parser: argparse.ArgumentParser) -> None:
    """--grace, --stuck-after and --acknowledged, for the commands that judge."""
    parser.add_argument(
        "--acknowledged",
        metavar="FILE",
        type=Path,
        help="the file of acknowledgements: what you know better than Nova and Placement "
        f"(default: $TRUEUP_ACKNOWLEDGED, or {ACKNOWLEDGED} if it is there)",
    )
    parser.add_argument(
        "--grace",
        metavar="SECONDS",
        type=int,
        default=AuditOptions().grace_seconds,
        help="how long a deleted instance is left to nova-compute (default: %(default)s)",
    )
    parser.add_argument(
        "--stuck-after",
        metavar="SECONDS",
        type=int,
        default=AuditOptions().stuck_seconds,
        help="the age from which a task, a move or a build that does not end counts as 'could "
        "not check' (default: %(default)s)",
    )
