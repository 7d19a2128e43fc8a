# SPDX-License-Identifier: Apache-2.0
"""Which extra brings what a command lacks. Needs only the standard library."""

from collections.abc import Sequence

# Every other command looks at a cloud or repairs it, and one extra brings what they all need.
_OF_THE_SERVICE = ("page", "serve")


def extra_of(command: str, missing: ModuleNotFoundError) -> str:
    """The extra that installs all that a command needs, which lacks a module."""
    if missing.name == "libvirt":
        return "libvirt"
    return "service" if command in _OF_THE_SERVICE else "reconcile"


def how_to_install(missing: ModuleNotFoundError, words: Sequence[str] = ()) -> str:
    """Say what to install. `words` is the command line, where that is known."""
    command = next((word for word in words if not word.startswith("-")), "")
    extra = extra_of(command, missing)
    return f"this command needs '{missing.name}': pip install 'trueup[{extra}]'."
