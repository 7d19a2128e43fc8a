# SPDX-License-Identifier: Apache-2.0
"""Which extra brings a module that is not there. Imports nothing, since anything may lack."""

_RECONCILE = frozenset({"keystoneauth1", "openstack", "msgspec"})


def how_to_install(missing: ModuleNotFoundError) -> str:
    """The sentence for a command whose half is not installed."""
    extra = "reconcile" if missing.name in _RECONCILE else "service"
    return f"this command needs '{missing.name}': pip install 'trueup[{extra}]'."
