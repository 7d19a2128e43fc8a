# SPDX-License-Identifier: Apache-2.0
"""The table of exit codes. Commands that replace upstream's have upstream's codes."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of all commands, with their meanings."""

    CLEAN = 0, "clean, or done"
    INTERNAL_ERROR = 1, "an error inside Trueup"
    USAGE = 2, "the command line, a file or the configuration is wrong; nothing was written"
    FINDINGS = 3, "there are findings, or there is work to do"
    SOME_REFUSED = (
        4,
        "done, but some steps were refused, or their outcome is unknown",
    )
    INCOMPLETE = 5, "the evidence is incomplete: something did not answer or could not be checked"
    LIMIT_EXCEEDED = 6, "a limit was exceeded; nothing was written"
    INTERRUPTED = 130, "stopped by Ctrl-C or SIGTERM; nothing further is written"

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "ExitCode":
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code


def table() -> str:
    """The exit codes as lines of text, for --help."""
    return "\n".join(["exit codes:", *(f"{code.value:>3}  {code.meaning}" for code in ExitCode)])
