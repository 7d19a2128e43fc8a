# SPDX-License-Identifier: Apache-2.0
"""Muting: a finding is acknowledged in the operator's file, for some days and with a reason."""

import argparse
import re
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from trueup.cli.judging import acknowledged_file, audit_options
from trueup.cli.terminal.options import OptionRefused
from trueup.reconcile.account import user_name
from trueup.reconcile.audit import Audit, answered
from trueup.reconcile.files import FileUnwritable, refuse_unwritable
from trueup.reconcile.verdicts import Acknowledgement, AuditOptions
from trueup.reconcile.verdicts.acknowledgement_file import add

_DURATION = re.compile(r"(\d{1,4})([dw])")
_DAYS = {"d": 1, "w": 7}


@dataclass(eq=False)
class FindingUnknown(Exception):
    """There is no such finding now; `muted_until` if it is muted already."""

    finding: str
    muted_until: date | None = None


def add_mute_options(parser: argparse.ArgumentParser) -> None:
    """--mute, --for and --reason."""
    group = parser.add_argument_group(
        "mute a finding", "adds it to the file that --acknowledged names; keep that file in git"
    )
    group.add_argument("--mute", metavar="FINDING", help="its id: DEFECT:SUBJECT")
    group.add_argument(
        "--for",
        dest="mute_for",
        metavar="TIME",
        type=_days,
        help="for how long, in days or weeks: 7d, 2w",
    )
    group.add_argument("--reason", metavar="TEXT", help="why it may stay as it is")


def refuse_half_a_mute(arguments: argparse.Namespace) -> None:
    """Raise OptionRefused unless --mute, --for and --reason are all given, or none of them.

    Also where the file of acknowledgements cannot be written.
    """
    given = {
        "--mute": arguments.mute is not None,
        "--for": arguments.mute_for is not None,
        "--reason": bool((arguments.reason or "").strip()),
    }
    missing = [option for option, there in given.items() if not there]
    if len(missing) == len(given) and arguments.reason is None:
        return
    if missing:
        raise OptionRefused(
            missing[0], "muting takes three options: --mute FINDING --for 7d --reason TEXT"
        )
    try:
        refuse_unwritable(_file(arguments))
    except FileUnwritable as error:
        reason = f"{error.path} cannot be written: {error.reason}; name another file with it"
        raise OptionRefused("--acknowledged", reason) from error


def options_with_mute(arguments: argparse.Namespace) -> AuditOptions:
    """The options of an audit; a file that the first mute makes is not there yet."""
    if arguments.mute and not _file(arguments).exists():
        return AuditOptions(arguments.grace, stuck_seconds=arguments.stuck_after)
    return audit_options(arguments)


def mute(result: Audit, arguments: argparse.Namespace) -> Audit:
    """Add a finding of an audit to the file; the audit, in which it is muted.

    Raises FindingUnknown, FileUnwritable, AcknowledgementsUnreadable.
    """
    if arguments.mute not in {row.id for row in result.findings}:
        known = {muted.finding.id: muted.acknowledgement.until for muted in result.muted}
        raise FindingUnknown(arguments.mute, known.get(arguments.mute))
    one = Acknowledgement(
        kind="finding",
        name=arguments.mute,
        reason=arguments.reason.strip(),
        until=result.taken_at.date() + timedelta(days=arguments.mute_for),
        by=user_name(),
    )
    muted = answered(result, [one])
    add(_file(arguments), one)
    return muted


def _file(arguments: argparse.Namespace) -> Path:
    return acknowledged_file(arguments.acknowledged)


def _days(text: str) -> int:
    match = _DURATION.fullmatch(text)
    days = int(match[1]) * _DAYS[match[2]] if match else 0
    if days == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days or weeks, as 7d or 2w")
    return days
