# SPDX-License-Identifier: Apache-2.0
"""Database servers that run out of room."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.servers import mariadb
from tests.servers.databases import DatabaseServer
from tests.servers.processes import find_program, private_folder, unprivileged_account
from tests.servers.skipping import skip_without

FILE_SIZE_BLOCKS = 13 * 1024 * 2
"""The largest file that such a server may write, in units of 512 bytes: its own need 12 MiB."""
DISK_SIZE = "24M"


@contextmanager
def mariadb_with_small_files() -> Iterator[DatabaseServer]:
    """A server whose files cannot grow, as if the disk was full."""
    real = find_program("mariadbd", mariadb.PACKAGE, "/usr/sbin", "/usr/local/sbin")
    with private_folder("wrapped", unprivileged_account("mysql")) as folder:
        folder.chmod(0o755)
        wrapper = folder / "mariadbd"
        # The signal would end the server; ignored, the write fails.
        wrapper.write_text(
            f"#!/bin/sh\ntrap '' XFSZ\nulimit -f {FILE_SIZE_BLOCKS}\nexec {real} \"$@\"\n"
        )
        wrapper.chmod(0o755)
        small = (*mariadb.TUNED, "--innodb-log-file-size=4M")
        path = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        with (
            mock.patch.dict(os.environ, PATH=path),
            mock.patch.object(mariadb, "TUNED", small),
            mariadb.private_mariadb() as server,
        ):
            yield server


@dataclass(frozen=True)
class SmallDisk:
    """A disk of its own."""

    folder: Path

    @contextmanager
    def full(self) -> Iterator[None]:
        """While the block runs, nothing more can be written to it."""
        file = self.folder / "filler"
        with suppress(OSError), file.open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
        yield
        file.unlink()


@contextmanager
def small_disk(account: str | None) -> Iterator[SmallDisk]:
    if os.geteuid() != 0:
        skip_without("only root may mount a small disk: run the test as root")
    with private_folder("disk", account) as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs", str(folder)]
        subprocess.run(mount, check=True)
        try:
            shutil.chown(folder, account)
            yield SmallDisk(folder)
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def mariadb_with_small_tmpdir() -> Iterator[tuple[DatabaseServer, SmallDisk]]:
    """A server whose temporary tables are on a disk of their own."""
    with (
        small_disk(unprivileged_account("mysql")) as disk,
        mariadb.private_mariadb([f"--tmpdir={disk.folder}"]) as server,
    ):
        yield server, disk


@contextmanager
def database_on_small_disk(server: DatabaseServer) -> Iterator[str]:
    """The URL of a PostgreSQL database whose tables are on a disk of their own."""
    with small_disk(unprivileged_account("postgres")) as disk:
        name = f"small_{os.getpid()}"
        server.execute(f"CREATE TABLESPACE {name} LOCATION '{disk.folder}'")
        url = server.create_database()
        database = url.rpartition("/")[2]
        server.execute(f'ALTER DATABASE "{database}" SET TABLESPACE {name}')
        yield url
        server.drop_database(url)
        server.execute(f"DROP TABLESPACE {name}")
