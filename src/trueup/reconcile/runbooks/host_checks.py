# SPDX-License-Identifier: Apache-2.0
"""Checks that several host runbooks share: the evidence, the service, moves, children. Pure."""

from collections.abc import Iterable, Iterator

from trueup.reconcile.facts import Facts, Migration, Provider
from trueup.reconcile.rules.machines import other_names, way_back
from trueup.reconcile.runbooks.preflight import Check, Outlook


def evidence(facts: Facts) -> Iterator[Check]:
    """Every source that is silent, damaged or behind."""
    for source in (*facts.coverage.missing, *facts.coverage.damaged, *facts.coverage.behind):
        reason = source.reason or source.lag or f"{source.lost_rows} rows cannot be read"
        yield Check(
            "evidence", source.source, reason, Outlook.BLOCKS,
            "repair it, and run this again: what it knows may forbid this runbook",
        )  # fmt: skip


def one_machine(host: str, facts: Facts) -> Iterator[Check]:
    """Another name of the host's machine in Nova: the machine needs one name first."""
    if others := other_names(host, facts):
        yield Check(
            "machine", host, f"it is the same machine as {' and '.join(others)}", Outlook.BLOCKS,
            way_back(host, facts) or "",
        )  # fmt: skip


def whole(roots: Iterable[Provider], facts: Facts) -> Iterator[Check]:
    """Root providers whose tree is broken.

    SAFETY: a provider with such a root may belong to another host.
    """
    for row in roots:
        if broken := facts.broken_roots.get(row.uuid) or facts.broken_roots.get(row.root):
            yield Check(
                "provider", row.name, f"its tree is broken: {broken}", Outlook.BLOCKS,
                "stop Placement, take a backup of its database, run `trueup-manage db fsck "
                "--repair`, and run this again",
            )  # fmt: skip


def stopped(host: str, facts: Facts) -> Iterator[Check]:
    """Whether nova-compute, which writes to the same providers, is stopped."""
    services = [service for service in facts.services if service.host.casefold() == host.casefold()]
    if not services:
        # SAFETY: its row may have been deleted by hand, and it may be up. Each step asks again.
        yield Check(
            "service", host, "the host has none, but a compute node", Outlook.BLOCKS,
            f"start nova-compute on {host}, which registers itself, stop it, and run this again: "
            "it may be up",
        )  # fmt: skip
    for service in services:
        if service.is_up(facts.taken_at):
            yield Check(
                "service", host, "it is up", Outlook.BLOCKS,
                "stop nova-compute on it, and start it again afterwards: it would write to the "
                "same providers meanwhile. Its guests keep running",
            )  # fmt: skip
        else:
            then = "start nova-compute afterwards"
            yield Check("service", host, "it is down", Outlook.FINE, then)


def waiting(move: Migration) -> str:
    """How an operator sees that a migration has ended."""
    return f"wait until `openstack server migration list --server {move.instance}` says it ended"


def way(move: Migration) -> str:
    """The source, the target and the status of a migration."""
    target = move.target_host or "a host that is not chosen yet"
    return (
        f"{move.kind} of instance {move.instance} from {move.source_host} to {target}: "
        f"{move.status}"
    )
