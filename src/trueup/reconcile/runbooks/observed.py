# SPDX-License-Identifier: Apache-2.0
"""Observes the subjects of a runbook twice, as for any plan, and prepares the runbook."""

from dataclasses import dataclass, replace
from datetime import timedelta

from trueup.reconcile.audit import Observation
from trueup.reconcile.collect.selection import Selection
from trueup.reconcile.runbooks import merge, rekey, retire
from trueup.reconcile.runbooks.host_reading import former_providers, read_host, spelled
from trueup.reconcile.runbooks.moving import holders
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.runs import Observer, Wait, plan


@dataclass(eq=False)
class NothingLeft(Exception):
    """Nova deleted the host, and Placement has no provider of it."""

    host: str


@dataclass(frozen=True, slots=True)
class Pacing:
    """The time between the two observations, and how to wait for it."""

    interval: timedelta
    wait: Wait


def retirement(
    host: str, observer: Observer, pacing: Pacing, agents_gone: bool = False
) -> Prepared | None:
    """The retirement of a host; None: it was retired before, and nothing is left.

    `agents_gone`: Neutron cannot be asked, and the operator says that no agent runs on the host.

    Raises SelectionUnknown if nothing has ever known the host, and as `plan`.
    """
    host = spelled(host, observer.cloud)
    try:
        observer, first = _of_host(host, observer)
    except NothingLeft:
        return None
    planned = plan(observer, first.audit, pacing.interval, pacing.wait)
    facts = planned.second.facts
    trees = [
        row.uuid
        for root in retire.retired(host, facts).roots
        for row in facts.trees.get(root.uuid, ())
    ]
    reading = replace(read_host(observer.cloud, host, trees), agents_gone=agents_gone)
    return retire.prepared(host, planned.plan, planned.second, reading)


def _of_host(host: str, observer: Observer) -> tuple[Observer, Observation]:
    """An observer of a host, or of the providers that it left, and its observation.

    Raises NothingLeft.
    """
    selection = Selection(hosts=frozenset([host]))
    left = former_providers(observer.cloud, host)
    if left is not None:
        if not left:
            raise NothingLeft(host)
        selection = Selection(providers=left)
    narrow = replace(observer, selection=selection)
    return narrow, narrow.observe()


def rekeying(host: str, compute_id: str | None, observer: Observer, pacing: Pacing) -> Prepared:
    """The rekeying of a host. Raises SelectionUnknown, and as `plan`."""
    host = spelled(host, observer.cloud)
    narrow = replace(observer, selection=Selection(hosts=frozenset([host])))
    planned = plan(narrow, narrow.observe().audit, pacing.interval, pacing.wait)
    facts = planned.second.facts
    uuids = [clash.provider.uuid for clash in rekey.clashes(host, facts)]
    placement = observer.cloud.placement
    reading = replace(
        read_host(observer.cloud, host, uuids),
        holdings=placement.holdings(holders(uuids, facts)),
    )
    return rekey.prepared(host, planned.plan, facts, reading, compute_id)


def merging(purpose: str, names: tuple[str, str], observer: Observer, pacing: Pacing) -> Prepared:
    """The merging of two providers, the one to delete first. Raises as `rekeying`."""
    narrow = replace(observer, selection=Selection(providers=frozenset(names)))
    planned = plan(narrow, narrow.observe().audit, pacing.interval, pacing.wait)
    facts = planned.second.facts
    pair = merge.pair_of(*names, facts)
    moved = pair.moved if pair else {}
    host = pair.node.host if pair and pair.node else ""
    reading = replace(
        read_host(observer.cloud, host, (*moved, *moved.values())),
        holdings=observer.cloud.placement.holdings(holders(moved, facts)),
    )
    return merge.prepared(purpose, planned.plan, facts, reading, pair)
