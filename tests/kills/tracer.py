# SPDX-License-Identifier: Apache-2.0
"""Runs `trueup`, counts the system calls with which it writes, and kills it at one of them.

A program of its own, because ptrace belongs to one thread, and forking wants no other: it reads a
request a line, and answers each with a line, as JSON (`tests.kills.tracing` asks).

A seccomp filter stops the process at calls that write and at no others, so that it runs nearly as
fast as always; there ptrace has it killed.
"""

import ctypes
import json
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from trueup.cli.main import main

NUMBERS = {
    "x86_64": {
        "write": 1, "pwrite64": 18, "writev": 20, "sendto": 44, "sendmsg": 46, "fsync": 74,
        "fdatasync": 75, "truncate": 76, "ftruncate": 77, "rename": 82, "mkdir": 83, "creat": 85,
        "link": 86, "unlink": 87, "chmod": 90, "fchmod": 91, "openat": 257, "mkdirat": 258,
        "unlinkat": 263, "renameat": 264, "linkat": 265, "fchmodat": 268, "pwritev": 296,
        "sendmmsg": 307, "renameat2": 316, "pwritev2": 328,
    },
    "aarch64": {
        "mkdirat": 34, "unlinkat": 35, "linkat": 37, "renameat": 38, "truncate": 45,
        "ftruncate": 46, "fchmod": 52, "fchmodat": 53, "openat": 56, "write": 64, "writev": 66,
        "pwrite64": 68, "pwritev": 70, "fsync": 82, "fdatasync": 83, "sendto": 206,
        "sendmsg": 211, "sendmmsg": 269, "renameat2": 276, "pwritev2": 287,
    },
}  # fmt: skip

PTRACE_TRACEME, PTRACE_CONT, PTRACE_SYSCALL = 0, 7, 24
PTRACE_SETOPTIONS, PTRACE_GETEVENTMSG, PTRACE_SYSCALL_AT = 0x4200, 0x4201, 0x420E
# TRACESYSGOOD, TRACEFORK, TRACEVFORK, TRACECLONE, TRACEEXEC, TRACESECCOMP, EXITKILL
OPTIONS = 1 | 2 | 4 | 8 | 16 | 128 | 0x100000
EVENT_SECCOMP = 7
# waitpid: threads too.
WALL = 0x40000000
SYSCALL_STOP = signal.SIGTRAP | 0x80
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_ALLOW, RET_TRACE = 0x7FFF0000, 0x7FF00000
LOAD, JUMP_EQUAL, JUMP_SET, RETURN = 0x20, 0x15, 0x45, 0x06
# Where seccomp keeps the call's number, and the low half of its third argument.
CALL_NUMBER, THIRD_ARGUMENT = 0, 32

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long
LIBC.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]


def ptrace(request: int, thread: int, address: int = 0, content: object = 0) -> None:
    if LIBC.ptrace(request, thread, address, content) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")


def writing_filter(numbers: dict[str, int]) -> bytes:
    """The program that stops at each of these calls; at `openat` only if it may make a file."""
    opening = numbers["openat"]
    others = sorted(number for number in numbers.values() if number != opening)
    program = [(LOAD, 0, 0, CALL_NUMBER)]
    for index, number in enumerate(others):
        # From each comparison, over those that are left, to the last line.
        program.append((JUMP_EQUAL, len(others) - index - 1 + 4, 0, number))
    program += [
        (JUMP_EQUAL, 0, 2, opening),
        (LOAD, 0, 0, THIRD_ARGUMENT),
        (JUMP_SET, 1, 0, os.O_CREAT),
        (RETURN, 0, 0, RET_ALLOW),
        (RETURN, 0, 0, RET_TRACE),
    ]
    return b"".join(struct.pack("HBBI", *line) for line in program)


def traced(work: Callable[[], int], numbers: dict[str, int]) -> int:
    """A child that does the work, and stops at each call that writes; its process id."""
    if child := os.fork():
        os.waitpid(child, WALL)
        ptrace(PTRACE_SETOPTIONS, child, 0, OPTIONS)
        ptrace(PTRACE_CONT, child)
        return child
    code = writing_filter(numbers)
    lines = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(lines))
    program = ctypes.create_string_buffer(header, len(header))
    ptrace(PTRACE_TRACEME, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program), 0, 0):
        os._exit(126)
    os._exit(work())


class Tracer:
    """Follows a process and its threads from one call that writes to the next."""

    def __init__(self, child: int, at: int, when: str, names: dict[int, str]) -> None:
        self.calls: list[str] = []
        self._child, self._at, self._when, self._names = child, at, when, names
        self._code: int | None = None

    def follow(self) -> int:
        """Until the process has ended: its exit code, or minus the signal that ended it."""
        while self._code is None:
            thread, status = os.waitpid(-1, WALL)
            if os.WIFSTOPPED(status):
                try:
                    self._stopped(thread, status)
                except ProcessLookupError:
                    continue  # killed meanwhile
            elif thread == self._child:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def _stopped(self, thread: int, status: int) -> None:
        signal_number, event = os.WSTOPSIG(status), status >> 16
        if event == EVENT_SECCOMP:
            self._about_to_write(thread)
        elif signal_number == SYSCALL_STOP:
            self._kill()  # only asked for where the kernel has carried the call out
        elif event or signal_number in (signal.SIGTRAP, signal.SIGSTOP):
            ptrace(PTRACE_CONT, thread)
        else:
            ptrace(PTRACE_CONT, thread, 0, int(signal_number))

    def _about_to_write(self, thread: int) -> None:
        self.calls.append(self._names[_call_number(thread)])
        if len(self.calls) != self._at:
            ptrace(PTRACE_CONT, thread)
        elif self._when == "before":
            self._kill()
        else:
            ptrace(PTRACE_SYSCALL, thread)

    def _kill(self) -> None:
        os.kill(self._child, signal.SIGKILL)


def _call_number(thread: int) -> int:
    """The number of the call at which a thread stands (struct ptrace_syscall_info)."""
    found = ctypes.create_string_buffer(88)
    ptrace(PTRACE_SYSCALL_AT, thread, len(found), ctypes.addressof(found))
    return int(struct.unpack_from("Q", found, 24)[0])


def _work(request: dict[str, Any]) -> Callable[[], int]:
    """What the child does: the console command, or its function in this interpreter's fork."""

    def work() -> int:
        output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(request["environment"])
        words = request["words"]
        if request["command"]:
            os.execv(request["command"], [request["command"], *words])
        code = main(words)
        sys.stdout.flush()
        sys.stderr.flush()
        return code

    return work


def answer(request: dict[str, Any], numbers: dict[str, int]) -> dict[str, Any]:
    """Run it, kill it if it gets there: its exit code (negative: the signal), and its calls."""
    child = traced(_work(request), numbers)
    names = {number: name for name, number in numbers.items()}
    tracer = Tracer(child, request["at"], request["when"], names)
    return {"code": tracer.follow(), "calls": tracer.calls}


if __name__ == "__main__":
    # What the command imports late is imported before the first fork.
    with open(os.devnull, "w") as nowhere, suppress(SystemExit):
        kept, sys.stdout = sys.stdout, nowhere
        main(["apply", "--help"])
    sys.stdout = kept
    for line in sys.stdin:
        found = answer(json.loads(line), NUMBERS[platform.machine()])
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
