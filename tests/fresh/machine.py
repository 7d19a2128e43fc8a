# SPDX-License-Identifier: Apache-2.0
"""A fresh machine: a minimal system in a folder, made by debootstrap and entered by chroot.

It has the release of this machine, and nothing of it but the way to its package registries: apt's
sources, and pip's configuration with the files that it names. Processes and mounts are in
namespaces that end with each command. The network is this machine's.
"""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.servers.processes import find_program
from tests.tree import REPOSITORY

BARE = REPOSITORY / ".venv" / "fresh"
ACCOUNT = "engineer"
LINES_SHOWN = 60
# Mounts of `$1`, then a login of the account `$2` that runs `$3` there.
ENTER = """\
set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
for path in $BOUND; do mount --rbind "$path" "$1$path"; done
exec chroot "$1" /bin/su --login "$2" --command "$3"
"""


class CommandFailed(AssertionError):
    """A command ended otherwise than it had to; the text has its last lines."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Remove the folder, and the machine is gone."""

    root: Path

    def run(self, script: str, account: str = ACCOUNT, code: int | None = 0) -> str:
        """What a shell prints that runs the script from the account's home folder.

        It has to end with the code, if one is named.
        """
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh"]
        ran = subprocess.run(
            [*enter, self.root, account, script],
            env={**os.environ, "BOUND": " ".join(map(str, folders_of_pip()))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if code is not None and ran.returncode != code:
            last = "\n".join(ran.stdout.splitlines()[-LINES_SHOWN:])
            raise CommandFailed(f"{script}\nended with {ran.returncode}, not {code}:\n{last}")
        return ran.stdout

    def put(self, sources: Iterable[Path], inside: str, top: Path = REPOSITORY) -> None:
        """Copy files, named relative to a folder, into a folder of the account."""
        for name in sources:
            target = self.root / inside.lstrip("/") / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(top / name, target)
        self.run(f"chown --recursive {ACCOUNT}: {inside}", "root")

    def put_checkout(self) -> str:
        """A copy of what this repository keeps; the folder that it is in."""
        folder = f"/home/{ACCOUNT}/trueup"
        kept = _read("git", "-C", str(REPOSITORY), "ls-files", "-z", "-co", "--exclude-standard")
        self.put(map(Path, kept.rstrip("\0").split("\0")), folder)
        return folder


def fresh_machine(folder: Path) -> Machine:
    """A machine on which nothing was installed yet."""
    root = folder / "machine"
    subprocess.run(["cp", "--archive", "--reflink=auto", bare_system(), root], check=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    _let_apt_find_packages(root / "etc/apt")
    _let_pip_find_packages(root)
    # As in a container: packages that bring a server do not start it.
    starts = root / "usr/sbin/policy-rc.d"
    starts.write_text("#!/bin/sh\nexit 101\n")
    starts.chmod(0o755)
    machine = Machine(root)
    add_account = f"useradd --create-home --shell /bin/bash {ACCOUNT}"
    machine.run(f"apt-get update && {add_account}", "root")
    return machine


def bare_system() -> Path:
    """The system as debootstrap leaves it, made once; TRUEUP_FRESH names a folder to keep it in."""
    release = release_of_this_machine()
    folder = Path(os.environ.get("TRUEUP_FRESH") or BARE)
    made, partial = folder / release, folder / f"{release}.partial"
    if not made.is_dir():
        debootstrap = find_program("debootstrap", "debootstrap", "/usr/sbin")
        shutil.rmtree(partial, ignore_errors=True)
        partial.parent.mkdir(parents=True, exist_ok=True)
        mirror, *_ = next(apt_sources(release)).split()
        command = [debootstrap, "--variant=minbase", release, partial, mirror]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        partial.rename(made)
    return made


def release_of_this_machine() -> str:
    """Its codename."""
    lines = Path("/etc/os-release").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)["VERSION_CODENAME"]


def apt_sources(release: str) -> Iterator[str]:
    """`URI SUITE COMPONENTS` of the release and its updates, from where this machine has them."""
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    found: dict[str, list[str]] = {}
    named = _read("apt-get", "indextargets", "--format", form, "Created-By: Packages")
    for line in named.splitlines():
        uri, suite, component = line.split()
        if suite == release or suite.startswith(f"{release}-"):
            found.setdefault(f"{uri} {suite}", []).append(component)
    for source, components in sorted(found.items(), key=lambda one: one[0].split()[1]):
        yield f"{source} {' '.join(dict.fromkeys(components))}"


def pip_options() -> dict[str, str]:
    """pip's options on this machine for every command, by the names that its files use."""
    options = {}
    for line in _read(sys.executable, "-m", "pip", "config", "list").splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.rpartition(".")
        # The environment goes before the files, and is listed first.
        if section in ("global", ":env:"):
            options.setdefault(option, ast.literal_eval(value))
    return options


def _let_apt_find_packages(settings: Path) -> None:
    """Where this machine finds them."""
    lines = (f"deb {source}\n" for source in apt_sources(release_of_this_machine()))
    (settings / "sources.list").write_text("".join(lines))
    (settings / "apt.conf.d/90host").write_text(_read("apt-config", "dump", "Acquire"))


def _let_pip_find_packages(root: Path) -> None:
    """Where this machine finds them; the files that pip's options name are copied."""
    lines = ["[global]"]
    for name, value in pip_options().items():
        words = value.split()
        for at, word in enumerate(words):
            if word.startswith("/") and Path(word).is_file():
                words[at] = f"/etc/pip/{Path(word).name}"
                (root / "etc/pip").mkdir(exist_ok=True)
                shutil.copy(word, root / words[at].lstrip("/"))
        lines.append(f"{name} = {' '.join(words)}")
    (root / "etc/pip.conf").write_text("\n".join(lines) + "\n")
    for folder in folders_of_pip():
        (root / folder.relative_to("/")).mkdir(parents=True, exist_ok=True)


def folders_of_pip() -> list[Path]:
    """Those that pip's options name on this machine, to be seen inside at the same place."""
    found = set()
    for word in " ".join(pip_options().values()).split():
        url = urlsplit(word)
        # An index refers to the files beside it.
        path = Path(unquote(url.path)).parent if url.scheme == "file" else Path(word)
        if path.is_absolute() and path.is_dir():
            found.add(path)
    return sorted(found)


def _read(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
