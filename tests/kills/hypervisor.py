# SPDX-License-Identifier: Apache-2.0
"""A private libvirtd with libvirt's test driver: its domains outlive a client, as real ones do."""

import contextlib
import os
from collections.abc import Iterator

from tests.servers.domains import PACKAGES, binding
from tests.servers.processes import (
    ProgramMissing,
    ServerProgram,
    find_program,
    private_folder,
    serving,
)

# The one domain that the test driver begins with.
DOMAIN = "6695eb01-f6a4-8304-79aa-97f2502e193f"
MISSING = "libvirtd or its binding was not found: install the packages libvirt-daemon, " + PACKAGES
URI = "test+unix:///default?socket={socket}"


@contextlib.contextmanager
def hypervisor() -> Iterator[str]:
    """The URI of a hypervisor with one domain; "" where libvirtd or its binding is missing."""
    try:
        program, libvirt = find_program("libvirtd", "libvirt-daemon", "/usr/sbin"), binding()
    except ProgramMissing:
        yield ""
        return
    with private_folder("libvirt", None) as folder:
        settings = folder / "libvirtd.conf"
        settings.write_text(
            f'unix_sock_dir = "{folder}"\nauth_unix_ro = "none"\nauth_unix_rw = "none"\n'
        )
        # libvirtd ends where a driver that it finds cannot start; the test driver is built in.
        drivers = folder / "drivers"
        drivers.mkdir()
        socket = folder / "libvirt-sock"
        daemon = ServerProgram(
            command=lambda _: (program, "-f", str(settings), "-p", str(folder / "pid")),
            ready=lambda _: socket.exists(),
            log=folder / "libvirtd.log",
            environment={**os.environ, "LIBVIRT_DRIVER_DIR": str(drivers)},
        )
        with serving(daemon):
            uri = URI.format(socket=socket)
            # The test driver forgets its domains when the last connection ends.
            kept = libvirt.open(uri)
            try:
                yield uri
            finally:
                kept.close()
