# SPDX-License-Identifier: Apache-2.0
"""Persons with SSH keys, made by the real ssh-keygen, and a policy that knows them."""

import subprocess
from pathlib import Path

from tests.servers.processes import ProgramMissing, find_program
from tests.servers.skipping import skip_without


def new_key(path: Path) -> Path:
    """An SSH key without a passphrase. Skips the test where there is no ssh-keygen."""
    try:
        program = find_program("ssh-keygen", "openssh-client")
    except ProgramMissing as missing:
        skip_without(str(missing))
    command = [program, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


class Signers:
    """A folder with the keys of persons, their allowed signers, revoked keys and a policy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.allowed = folder / "allowed_signers"
        self.revoked = folder / "revoked_keys"
        self.policy = folder / "policy.toml"
        self.allowed.write_text("")
        self.revoked.write_text("")

    def key(self, name: str, principal: str = "", options: str = "") -> Path:
        """A new key of this person, who is an allowed signer."""
        path = new_key(self.folder / name)
        public = path.with_name(f"{name}.pub").read_text()
        line = f"{principal or f'{name}@example.org'} {options} {public}"
        self.allowed.write_text(self.allowed.read_text() + line)
        return path

    def require(self, persons: int, more: str = "") -> Path:
        """A policy that wants the approval of so many persons."""
        self.policy.write_text(
            f'[approval]\nrequired = {persons}\nsigners = "{self.allowed}"\n'
            f'revoked = "{self.revoked}"\n{more}'
        )
        return self.policy

    def revoke(self, key: Path) -> None:
        self.revoked.write_text(key.with_name(f"{key.name}.pub").read_text())
