# SPDX-License-Identifier: Apache-2.0
"""Signatures with SSH keys, made and verified by OpenSSH's own program."""

import subprocess
from dataclasses import dataclass


@dataclass(eq=False)
class KeygenFailed(Exception):
    """ssh-keygen is not installed, or did not sign; its own words."""

    reason: str


def keygen(words: list[str], message: str) -> "subprocess.CompletedProcess[str]":
    """Run `ssh-keygen -Y` with these words, on a message. Raises KeygenFailed."""
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", *words], input=message, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise KeygenFailed(f"it cannot be started: {error.strerror or error}") from error


def words_of(ran: "subprocess.CompletedProcess[str]") -> str:
    """The first line that ssh-keygen said of a failure."""
    lines = [line for line in ran.stderr.splitlines() if not line.startswith("Signing")]
    return next(iter(lines), "").rstrip(".")
