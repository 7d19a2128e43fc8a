# SPDX-License-Identifier: Apache-2.0
"""Which extra installs a missing module. Needs only the standard library."""

from collections.abc import Sequence

# A command that needs both halves has an extra that installs both, so that one answer is enough.
_EXTRAS_OF_COMMANDS = {"demo": "demo", "page": "service", "rehearse": "demo", "watch": "reconcile"}

_EXTRAS = {
    "jinja2": "reconcile",
    "keystoneauth1": "reconcile",
    "libvirt": "libvirt",
    "msgspec": "reconcile",
    "openstack": "reconcile",
}


def how_to_install(missing: ModuleNotFoundError, words: Sequence[str] = ()) -> str:
    """Say what to install. `words` is the command line, where that is known."""
    command = next((word for word in words if not word.startswith("-")), "")
    extra = _EXTRAS_OF_COMMANDS.get(command) or _EXTRAS.get(missing.name or "", "service")
    return f"this command needs '{missing.name}': pip install 'trueup[{extra}]'."
