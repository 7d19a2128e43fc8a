# SPDX-License-Identifier: Apache-2.0
"""Options that contradict each other, or mean nothing: refused before any work."""

import argparse
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

NOVA_CONF = "/etc/nova/nova.conf"
# Destination of an option → its name, where a number has to be above 0, or at least 0.
_ABOVE_ZERO = {
    "interval": "--interval",
    "every": "--interval",
    "cell_timeout": "--cell-timeout",
    "replan": "--replan",
    "rate": "--rate",
    "slow_after": "--slow-after",
    "seconds": "--seconds",
    "concurrency": "--concurrency",
    "rounds": "--rounds",
}
_NOT_NEGATIVE = {
    "grace": "--grace",
    "limit": "--limit",
    "max_age": "--max-age",
    "pause": "--pause",
    "require_approval": "--require-approval",
}
# Options that name a cloud or a way to read it, and do not apply to a snapshot.
_OF_CLOUDS = {
    "nova_conf": "--nova-conf",
    "nova_database": "--nova-database",
    "nova_api": "--nova-api",
    "os_cloud": "--os-cloud",
    "cell_database": "--cell-database",
    "cell_timeout": "--cell-timeout",
    "placement_database": "--placement-database",
    "placement_conf": "--placement-conf",
    "libvirt": "--libvirt",
    "libvirt_uri": "--libvirt-uri",
}
_OF_DATABASES = ("cell_database", "cell_timeout")
# Options about reading facts, which do not apply where only Placement's API is used.
_OF_FACTS = (*_OF_DATABASES, "placement_database", "placement_conf", "libvirt", "libvirt_uri")


@dataclass(eq=False)
class OptionRefused(Exception):
    """An option that would be ignored, or whose value means nothing, and what to do instead."""

    option: str
    reason: str


def nova_conf_of(named: Path | None) -> Path:
    """The nova.conf that --nova-conf names, or the one that is used when none is named."""
    return named or Path(os.environ.get("TRUEUP_NOVA_CONF", NOVA_CONF))


def refuse_meaningless(arguments: argparse.Namespace) -> None:
    """Raise OptionRefused for a number that is out of range."""
    for names, least, words in ((_ABOVE_ZERO, 0, "above 0"), (_NOT_NEGATIVE, -1, "0 or more")):
        for destination, option in names.items():
            value = getattr(arguments, destination, None)
            if value is not None and (value <= least or not isfinite(value)):
                raise OptionRefused(option, f"{value:g} makes no sense; name a number {words}")


def refuse_ignored(arguments: argparse.Namespace) -> None:
    """Raise OptionRefused for an option that another one would make ineffective."""
    given = [name for name in _OF_CLOUDS if getattr(arguments, name, None)]
    if getattr(arguments, "snapshot", None):
        _refuse(given, "a snapshot is read with --from, and no cloud; leave one of them out")
        return
    if arguments.nova_api and arguments.nova_database:
        _refuse(["nova_database"], "Nova is read over its API with --nova-api; name one of them")
    if arguments.nova_api or arguments.nova_database:
        _refuse(
            {"nova_conf"} & set(given),
            "Nova is read in another way with --nova-api or --nova-database; leave one of them out",
        )
    elif arguments.os_cloud:
        _refuse(
            ["os_cloud"],
            "nova.conf says which cloud it is; name --nova-api or --nova-database as well",
        )
    if arguments.nova_api:
        _refuse(
            [name for name in _OF_DATABASES if name in given],
            "no cell's database is read with --nova-api; leave one of them out",
        )


def refuse_ways_of_reading(arguments: argparse.Namespace) -> None:
    """Raise OptionRefused for an option about facts, where only Placement's API is used."""
    _refuse(
        [name for name in _OF_FACTS if getattr(arguments, name)],
        "a ledger is copied over Placement's API; leave it out",
    )


def add_placement_options(group: argparse._ActionsContainer) -> None:
    """Which placement.conf, or which database, for commands that read Placement's own database."""
    group.add_argument(
        "--config-file", metavar="FILE", action="append", default=[], help="a placement.conf"
    )
    group.add_argument(
        "--config-dir", metavar="DIR", action="append", default=[], help="a placement.conf.d"
    )
    group.add_argument(
        "--database", metavar="URL", help="this database, whatever placement.conf says"
    )


def placement_words(arguments: argparse.Namespace) -> list[str]:
    """The options for oslo.config. Raises OptionRefused where a database is named as well."""
    words = [f"--config-file={path}" for path in arguments.config_file]
    words += [f"--config-dir={path}" for path in arguments.config_dir]
    if words and arguments.database:
        raise OptionRefused("--database", "--database and --config-file name two ledgers: use one")
    return words


def host_and_port(option: str, text: str, example: str) -> tuple[str, int]:
    """HOST:PORT, with an address of IPv6 in brackets or not. Raises OptionRefused."""
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 1 << 16):
        raise OptionRefused(option, f"'{text}' is no HOST:PORT, such as {example}")
    return host.strip("[]"), int(port)


def origin_of(host: str, port: int) -> str:
    """The URL of what listens at an address; one of IPv6 gets brackets."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def refuse_columns(asked: Iterable[str], columns: Sequence[str]) -> None:
    """Raise OptionRefused for a column that a table does not have."""
    unknown = [name for name in asked if name not in columns]
    if unknown:
        raise OptionRefused(
            "--column", f"no column {', '.join(unknown)}. There are: {', '.join(columns)}"
        )


def _refuse(destinations: Iterable[str], reason: str) -> None:
    for destination in destinations:
        raise OptionRefused(_OF_CLOUDS[destination], f"it would be ignored: {reason}")
