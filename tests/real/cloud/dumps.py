# SPDX-License-Identifier: Apache-2.0
"""Databases copied with MariaDB's own programs."""

import shlex
import subprocess
from collections.abc import Sequence

from sqlalchemy.engine import URL

from tests.servers.mariadb import PACKAGE
from tests.servers.processes import find_program

# All databases as of one moment, and where in the binary log that was.
AT_ONE_MOMENT = ("--single-transaction", "--master-data=1", "--gtid", "--databases")


def copy(source: URL, what: Sequence[str], target: URL) -> None:
    """Dump and load. `what` is a database, for `target` then names one; or options and names."""
    dump = [find_program("mariadb-dump", PACKAGE), *_access(source), *what]
    load = [find_program("mariadb", PACKAGE), *_access(target)]
    if target.database:
        load.append(target.database)
    piped = f"set -o pipefail; {shlex.join(dump)} | {shlex.join(load)}"
    subprocess.run(["bash", "-c", piped], check=True, capture_output=True)


def _access(url: URL) -> list[str]:
    return [
        "--no-defaults",
        "--protocol=tcp",
        f"--host={url.host}",
        f"--port={url.port}",
        f"--user={url.username}",
        f"--password={url.password}",
    ]
