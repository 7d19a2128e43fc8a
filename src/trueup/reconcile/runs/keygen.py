# SPDX-License-Identifier: Apache-2.0
"""OpenSSH's ssh-keygen, which signs and verifies texts with SSH keys."""

import subprocess
from dataclasses import dataclass

Ran = subprocess.CompletedProcess[str]


@dataclass(eq=False)
class KeygenFailed(Exception):
    """ssh-keygen is not installed, or did not sign; its own words."""

    reason: str


def keygen(verb: str, *words: str, text: str) -> Ran:
    """Run `ssh-keygen -Y` on a text. Raises KeygenFailed if it cannot be started."""
    command = ["ssh-keygen", "-Y", verb, *words]
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except OSError as error:
        raise KeygenFailed(f"it cannot be started: {error.strerror or error}") from error


def words_of(ran: Ran) -> str:
    """What it said of a failure."""
    return " ".join((ran.stderr or ran.stdout).split()).rstrip(".") or "it does not verify"
