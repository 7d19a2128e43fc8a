# SPDX-License-Identifier: Apache-2.0
"""The options of Nova 34's `nova-manage placement`, with its names, and a few of our own."""

import argparse
from pathlib import Path

from trueup.cli.judging import add_audit_options
from trueup.cli.verb import add_state_option

CATEGORY = "placement"
# How many steps are written side by side, if --concurrency does not say.
CONCURRENCY = 4


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
    for name, words, add in (
        ("heal_allocations", _HEAL, _add_heal_options),
        ("audit", _AUDIT, _add_audit_options),
        ("sync_aggregates", _SYNC, _add_sync_options),
    ):
        action = actions.add_parser(name, description=words, help=words)
        action.add_argument(
            "--verbose", action="store_true", help="Provide verbose output during execution."
        )
        add(action)
        # PARITY: Nova judges what was deleted or made this very moment.
        action.set_defaults(grace=0)


_HEAL = "Give instances the allocations that they should have and do not have."
_AUDIT = "Report, or release, allocations of consumers that no longer exist."
_SYNC = "Put the providers of hosts into the aggregates that the hosts are in."


def _add_heal_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-count",
        metavar="<max_count>",
        help="Maximum number of instances to heal; the oldest come first.",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="Print what would be done, and write nothing. The return code is 4.",
    )
    parser.add_argument(
        "--instance",
        metavar="<instance_uuid>",
        dest="instance_uuid",
        help="UUID of one instance to heal; --max-count has no effect then.",
    )
    parser.add_argument(
        "--skip-port-allocations",
        action="store_true",
        help="Do not ask Neutron, and do not heal what ports request.",
    )
    parser.add_argument(
        "--cell",
        metavar="<cell_uuid>",
        dest="cell_uuid",
        help="Heal only in this cell. Not together with --instance.",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="Heal the instance also if it looks up-to-date. Needs --instance.",
    )
    own = _own_options(parser)
    own.add_argument(
        "--port-provider",
        metavar="PORT=PROVIDER",
        type=_port_and_provider,
        action="append",
        default=[],
        help="the provider (name or uuid) of a port's resources, where several are possible",
    )
    _add_writing_options(own)
    _add_limit_option(own, "how many instances may hold less of something afterwards")
    add_audit_options(parser)


def _add_audit_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--resource_provider",
        metavar="<provider_uuid>",
        dest="provider_uuid",
        help="UUID of one resource provider to audit.",
    )
    parser.add_argument(
        "--delete", action="store_true", help="Release the orphaned allocations that were found."
    )
    own = _own_options(parser)
    _add_writing_options(own)
    _add_limit_option(own, "how many consumers may be released")
    add_audit_options(parser)


def _add_sync_options(parser: argparse.ArgumentParser) -> None:
    _add_writing_options(_own_options(parser))
    add_audit_options(parser)


def _own_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    return parser.add_argument_group("what nova-manage does not have")


def _add_writing_options(own: argparse._ArgumentGroup) -> None:
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


def _add_limit_option(own: argparse._ArgumentGroup, counted: str) -> None:
    own.add_argument(
        "--limit",
        metavar="SUBJECTS",
        type=int,
        help=f"{counted} (default: 25, or 1 %% of consumers if more)",
    )


def _port_and_provider(text: str) -> tuple[str, str]:
    port, equals, provider = text.partition("=")
    if not (port and equals and provider):
        raise argparse.ArgumentTypeError(f"{text!r} is not PORT=PROVIDER")
    return port, provider
