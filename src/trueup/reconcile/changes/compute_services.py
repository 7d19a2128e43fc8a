# SPDX-License-Identifier: Apache-2.0
"""Nova's record of a compute service: enabled or disabled, forced down or not; or deleted."""

from typing import Any

from trueup.reconcile.changes.target import NOT_AS_PLANNED, Found, Reply, reply_of
from trueup.reconcile.reasons import because
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.nova.contract import ServiceSettings
from trueup.reconcile.steps import Change, ServiceFields, ServiceRecord, Version, digest

OK, NO_CONTENT = 200, 204
NOT_MADE_AGAIN = because("service-not-made-again")


def read(target: ServiceRecord, cloud: Cloud) -> Found:
    """What an operator may set; the version is its digest, because Nova keeps no version."""
    row = _services(cloud).row(target.host)
    if row is None:
        return Found(None, {target.host: None})
    state = ServiceFields(
        disabled=row["status"] == "disabled",
        disabled_reason=row.get("disabled_reason") or "",
        forced_down=bool(row.get("forced_down")),
    )
    return Found(state, {target.host: digest(state)})


def write(change: Change, cloud: Cloud) -> Reply:
    """Set all fields, or delete the service. Nova compares no version, so we compare just before.

    Only nova-compute makes a service, when it starts. So a deleted service is not made again.
    """
    assert isinstance(change.target, ServiceRecord)
    if change.before is None:
        return Reply(False, sent=False, reason=NOT_MADE_AGAIN)
    if read(change.target, cloud).version != change.version:
        return NOT_AS_PLANNED
    after = change.after
    if after is None:
        response = _services(cloud).delete(change.target.host)
        return reply_of(response, NO_CONTENT, version_after(change))
    assert isinstance(after, ServiceFields)
    body: dict[str, Any] = {
        "status": "disabled" if after.disabled else "enabled",
        "forced_down": after.forced_down,
    }
    if after.disabled and after.disabled_reason:
        body["disabled_reason"] = after.disabled_reason
    response = _services(cloud).set(change.target.host, body)
    return reply_of(response, OK, version_after(change))


def version_after(change: Change) -> Version:
    """The digest of what is written; a deleted service has none."""
    return {part: digest(change.after) for part in change.version}


def _services(cloud: Cloud) -> ServiceSettings:
    if cloud.compute is None:
        raise Unreachable("Nova's API", "no endpoint of it is known")
    return cloud.compute
