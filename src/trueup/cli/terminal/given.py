# SPDX-License-Identifier: Apache-2.0
"""Commands that a command prints for the next one: with those of its options that they need too."""

import argparse
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from trueup.cli.terminal.state import state_folder

_CLOUD = (
    "nova_conf", "nova_database", "nova_api", "os_cloud", "cell_database", "cell_timeout",
    "placement_database", "placement_conf", "libvirt", "libvirt_uri",
)  # fmt: skip
_JUDGED = ("acknowledged", "grace", "stuck_after")
# How a run is written and signed; what --send-to names may be a secret.
_WRITTEN = ("concurrency", "rate", "slow_after", "pause_file", "sign_with")
_SELECTED = ("instances", "hosts", "providers", "cells", "projects", "consumers")
# Which of our options each command needs.
_NEEDED = {
    "trueup journal": ("state_dir",),
    "trueup verify": ("state_dir", *_CLOUD),
    "trueup undo": ("state_dir", "limit", *_WRITTEN, *_CLOUD),
    "trueup approve": ("policy",),
    # SAFETY: without them it writes while it is to pause, or faster than it may.
    "trueup apply": (
        "state_dir",
        "limit",
        "max_age",
        "require_approval",
        *_WRITTEN,
        "policy",
        *_CLOUD,
    ),
    # SAFETY: without them it plans for what the operator has acknowledged or not selected.
    "trueup plan": (
        "snapshot",
        "first",
        "interval",
        "only",
        "direction",
        "policy",
        *_SELECTED,
        *_JUDGED,
        *_CLOUD,
    ),
    "trueup audit": (*_SELECTED, *_JUDGED, *_CLOUD),
    "trueup explain": (*_JUDGED, *_CLOUD),
    "trueup rehearse": _CLOUD,
    "trueup rekey": ("state_dir", *_JUDGED, *_CLOUD),
    "trueup merge": ("state_dir", *_JUDGED, *_CLOUD),
    # They read no cloud.
    "trueup plan show": (),
    "trueup defects": (),
    # It is told the new ledger, and takes no other.
    "trueup rebuild": (*_JUDGED, *(name for name in _CLOUD if not name.startswith("placement_"))),
}
_PASSWORD = re.compile(r"://([^:/@]*):[^@]*@")
_Given = tuple[argparse.Namespace, argparse.ArgumentParser]
_GIVEN: ContextVar[_Given | None] = ContextVar("given", default=None)


@contextmanager
def remembered(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterator[None]:
    """While a command with these options runs, whose defaults its parser knows."""
    before = _GIVEN.set((arguments, parser))
    try:
        yield
    finally:
        _GIVEN.reset(before)


def complete(command: str, folder: Path | None = None) -> str:
    """A command with the options that it needs as well; it may have further words already.

    `folder`: it is read elsewhere, where another folder of journals may be the default. Passwords
    in URLs are left out: who pastes the command puts them in.
    """
    known = _GIVEN.get()
    if known is None:
        return command
    arguments, parser = known
    words: list[str] = []
    for name in _needed(command):
        value = getattr(arguments, name, None)
        if name == "snapshot" and not getattr(arguments, "first", None):
            # Without a first observation, a plan is of a cloud.
            continue
        if name == "state_dir" and folder is not None:
            words += ["--state-dir", str(folder.absolute())]
        # A parser does not know the default of an option of its subcommands.
        elif value not in (parser.get_default(name), state_folder()):
            words += _words(*_option(name, value))
    return " ".join([command, *map(shlex.quote, words)])


def _needed(command: str) -> tuple[str, ...]:
    """Which of our options a command needs; its name may have three words."""
    words = command.split()
    longer, shorter = " ".join(words[:3]), " ".join(words[:2])
    return _NEEDED[longer] if longer in _NEEDED else _NEEDED[shorter]


def _option(name: str, value: object) -> tuple[str, object]:
    """The option that gives this value, which our parsers keep under this name, as it is typed."""
    if name == "direction":
        return f"--only-{value}", True
    if name == "snapshot":
        return "--from", value
    named = name.removesuffix("s") if name in _SELECTED else name
    return f"--{named.replace('_', '-')}", value


def _words(option: str, value: object) -> Iterator[str]:
    """An option as it is typed."""
    for typed in value if isinstance(value, list) else [value]:
        if typed is None or typed is False:
            continue
        yield option
        if typed is not True:
            text = "=".join(map(str, typed)) if isinstance(typed, tuple) else str(typed)
            yield _PASSWORD.sub(r"://\1:***@", text)
