# SPDX-License-Identifier: Apache-2.0
import os
import select
import sys

from tests.reconcile.sinks.receivers import message
from trueup.reconcile.sinks.process import Command

HANGS = "import os, time; print(os.getpid(), file=open({!r}, 'w'), flush=True); time.sleep(600)"


def ends(number: int) -> bool:
    """Whether the process ends: a kill is only a request, which a busy machine may do later."""
    try:
        process = os.pidfd_open(number)
    except ProcessLookupError:
        return True
    try:
        readable, _, _ = select.select([process], [], [], 60)
    finally:
        os.close(process)
    return bool(readable)


def python(program: str, seconds: float = 30.0) -> Command:
    return Command((sys.executable, "-c", program), seconds)


def sent(command: Command, line: bytes = b'{"caf\\u00e9": 1}') -> str:
    return command.carry(message(), line)


def test_it_gets_the_message_on_standard_input(tmp_path):
    path = tmp_path / "news"
    keep = f"import sys; open({str(path)!r}, 'wb').write(sys.stdin.buffer.read())"
    assert sent(python(keep)) == ""
    assert path.read_bytes() == b'{"caf\\u00e9": 1}\n'


def test_one_that_does_not_read_is_no_failure():
    assert sent(python("pass"), b"x" * 1_000_000) == ""


def test_one_that_fails_is_told_with_its_own_words():
    reason = sent(python("import sys; sys.exit('no such channel')"))
    assert reason == "it ended with 1: no such channel"


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    path = tmp_path / "number"
    child = HANGS.format(str(path))
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    command = python(parent, seconds=3.0)
    assert sent(command) == "it did not end within 3 s, and was killed"
    if path.exists():
        assert ends(int(path.read_text()))


def test_one_that_is_not_there_is_told():
    assert sent(Command(("/no/such/program", "--quick"))).startswith("it cannot be started: ")
