# SPDX-License-Identifier: Apache-2.0
"""Which extra brings a module that is not there. Imports nothing, since anything may lack."""

_EXTRAS = {
    "keystoneauth1": "reconcile",
    "libvirt": "libvirt",
    "msgspec": "reconcile",
    "openstack": "reconcile",
}


def how_to_install(missing: ModuleNotFoundError) -> str:
    """The sentence for a command whose half is not installed."""
    extra = _EXTRAS.get(missing.name or "", "service")
    return f"this command needs '{missing.name}': pip install 'trueup[{extra}]'."
