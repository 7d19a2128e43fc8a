# SPDX-License-Identifier: Apache-2.0
"""The `openstack` program, loaded once: each call is a fork of a process that has imported it.

Its libraries take longer to load than all that a command does. The call has its own arguments,
environment, streams and exit status, as if the program had been started.

python -m tests.clients.warm SOCKET
"""

import contextlib
import importlib
import io
import json
import logging
import os
import signal
import socket
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

# What stands on the PATH as `openstack`: hands over its arguments, environment and streams.
CALLER = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
    line.connect({path!r})
    call = json.dumps({{"arguments": sys.argv[1:], "environment": dict(os.environ)}}).encode()
    socket.send_fds(line, [len(call).to_bytes(4, "big")], [0, 1, 2])
    line.sendall(call)
    sys.exit(int(line.recv(1)[0]))
"""
STREAMS = 3


def write_caller(folder: Path, path: Path) -> None:
    """Put a program named `openstack` into the folder, which asks the process at this socket."""
    program = folder / "openstack"
    program.write_text(CALLER.format(python=sys.executable, path=str(path)))
    program.chmod(0o755)


def main(path: str) -> None:
    # The program looks up its own name when it is imported.
    sys.argv = ["openstack"]
    shell = load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            line, _ = listener.accept()
            if os.fork() == 0:
                os._exit(answer(line, shell))
            line.close()


def load() -> ModuleType:
    """The program, with all that a command of a plugin for Placement imports or looks up."""
    shell = importlib.import_module("openstackclient.shell")
    for group in ("openstack.placement.v1", "openstack.trueup.v1"):
        for entry_point in entry_points(group=group):
            entry_point.load()
    importlib.import_module("openstack.connection")
    for command in (["resource", "provider", "list"], ["trueup", "audit"]):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            shell.main([*command, "--help"])
    # Each call sets up its own.
    logging.getLogger().handlers.clear()
    return shell


def answer(line: socket.socket, shell: ModuleType) -> int:
    """In the fork: become the program that was called."""
    size, streams, _, _ = socket.recv_fds(line, 4, STREAMS)
    with line.makefile("rb") as incoming:
        call = json.loads(incoming.read(int.from_bytes(size, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(call["environment"])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.argv = ["openstack", *call["arguments"]]
    try:
        status = shell.main(call["arguments"]) or 0
    except SystemExit as end:
        status = int(end.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    line.sendall(bytes([status]))
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
