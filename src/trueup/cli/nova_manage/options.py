# SPDX-License-Identifier: Apache-2.0
"""The options of Nova 34's `nova-manage placement`, with its names, and a few of our own."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from trueup.cli.judging import add_audit_options
from trueup.cli.verb import add_state_option

CATEGORY = "placement"
# Nova's return codes for an input that is not valid, and for an error that it did not foresee.
INVALID, ERROR = 127, 255
PLACEMENT_SILENT = "Unable to communicate with the Placement API."
# How many steps are written side by side, if --concurrency does not say.
CONCURRENCY = 4
# Each command: what it does, then Nova's options: name, the word for its value, help.
_COMMANDS = {
    "heal_allocations": (
        "Give instances the allocations that they should have and do not have.",
        (
            ("--max-count", "<max_count>", "Maximum number of instances to heal, oldest first."),
            ("--dry-run", "", "Print what would be done, and write nothing; return code 4."),
            ("--instance", "<instance_uuid>", "Heal this instance, whatever --max-count says."),
            ("--skip-port-allocations", "", "Do not ask Neutron, nor heal what ports request."),
            ("--cell", "<cell_uuid>", "Heal only in this cell. Not together with --instance."),
            ("--force", "", "Heal it also if it looks up-to-date. Needs --instance."),
        ),
    ),
    "audit": (
        "Report, or release, allocations of consumers that no longer exist.",
        (
            ("--resource_provider", "<provider_uuid>", "UUID of one resource provider to audit."),
            ("--delete", "", "Release the orphaned allocations that were found."),
        ),
    ),
    "sync_aggregates": ("Put the providers of hosts into the aggregates of the hosts.", ()),
}
_LIMITED = {
    "heal_allocations": "how many instances may hold less of something afterwards",
    "audit": "how many consumers may be released",
}


@dataclass(eq=False)
class Invalid(Exception):
    """The command line asks for what is not there or contradicts itself, in Nova's words."""

    line: str


def add_options(parser: argparse.ArgumentParser) -> None:
    """What stands before the category, as oslo.config takes it; then the commands."""
    parser.add_argument(
        "--config-file",
        metavar="PATH",
        type=Path,
        action="append",
        default=[],
        help="a configuration file of Nova's; of several, later ones win "
        "(default: $TRUEUP_NOVA_CONF, or the files that nova-manage finds)",
    )
    parser.add_argument(
        "--config-dir",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="a folder of *.conf files, read after the files",
    )
    parser.add_argument("--debug", "-d", action="store_true", help="log more, to standard error")
    categories = parser.add_subparsers(dest="category", metavar="placement", required=True)
    category = categories.add_parser(CATEGORY, help="what Nova keeps in Placement")
    actions = category.add_subparsers(dest="action", required=True)
    for name, (words, options) in _COMMANDS.items():
        action = actions.add_parser(name, description=words, help=words)
        action.add_argument("--verbose", action="store_true", help="Print a line for each subject.")
        for option, value, meaning in options:
            if value:
                action.add_argument(option, metavar=value, dest=value.strip("<>"), help=meaning)
            else:
                action.add_argument(option, action="store_true", help=meaning)
        _add_own_options(action, name)
        add_audit_options(action)
        # PARITY: Nova judges also what was deleted or made this very moment.
        action.set_defaults(grace=0)


def _add_own_options(action: argparse.ArgumentParser, name: str) -> None:
    own = action.add_argument_group("what nova-manage does not have")
    if name == "heal_allocations":
        own.add_argument(
            "--port-provider",
            metavar="PORT=PROVIDER",
            type=_port_and_provider,
            action="append",
            default=[],
            help="the provider (name or uuid) of a port's resources, where several are possible",
        )
    own.add_argument(
        "--interval",
        metavar="SECONDS",
        type=float,
        help="time between the two observations that a write needs (default: 1 if allocations are "
        "only added, else 60)",
    )
    own.add_argument(
        "--concurrency",
        metavar="STEPS",
        type=int,
        help=f"how many steps are written side by side (default: {CONCURRENCY})",
    )
    own.add_argument(
        "--placement-database",
        metavar="URL",
        help="read the ledger from Placement's database; writes still go over its API",
    )
    add_state_option(own)
    if name in _LIMITED:
        own.add_argument(
            "--limit",
            metavar="SUBJECTS",
            type=int,
            help=f"{_LIMITED[name]} (default: 25, or 1 %% of consumers if more)",
        )


def _port_and_provider(text: str) -> tuple[str, str]:
    port, equals, provider = text.partition("=")
    if not (port and equals and provider):
        raise argparse.ArgumentTypeError(f"{text!r} is not PORT=PROVIDER")
    return port, provider
