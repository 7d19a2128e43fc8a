# SPDX-License-Identifier: Apache-2.0
"""The binding profile of a Neutron port, replaced at its revision number."""

from trueup.reconcile.changes.target import Found, Reply, reply_of
from trueup.reconcile.facts import NEUTRON
from trueup.reconcile.reasons import because
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.http import is_own_error
from trueup.reconcile.sources.neutron import Neutron
from trueup.reconcile.steps import Change, PortBinding, Profile

OK = 200


def read(target: PortBinding, cloud: Cloud) -> Found:
    """The profile; the version is the port's revision number."""
    row = _neutron(cloud).port(target.port)
    if row is None:
        return Found(None, {target.port: None})
    version = {target.port: row.get("revision_number")}
    return Found(Profile(row.get("binding:profile") or {}), version)


def write(change: Change, cloud: Cloud) -> Reply:
    """Replace the profile, if the port still has this revision."""
    assert isinstance(change.target, PortBinding)
    assert isinstance(change.after, Profile)
    uuid = change.target.port
    response = _neutron(cloud).set_profile(uuid, change.after.content, change.version[uuid])
    try:
        return reply_of(response, OK)
    except AccessDenied as denied:
        # Neutron's policy decides for each port: it refuses this port, and other steps go on.
        return Reply(
            False, reason=because("answer", words=denied.reason), own=is_own_error(response)
        )


def version_after(change: Change) -> None:
    """Neutron does not promise by how much an update raises the revision number."""
    return


def _neutron(cloud: Cloud) -> Neutron:
    if cloud.neutron is None:
        raise Unreachable(NEUTRON, "no credentials for it are configured")
    return cloud.neutron
