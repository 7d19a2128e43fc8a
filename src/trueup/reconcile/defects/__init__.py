# SPDX-License-Identifier: Apache-2.0
"""The defects that Trueup knows, in the order in which they are asked, each in its own file."""

from collections.abc import Iterator
from typing import Protocol

from trueup.reconcile.defects import (
    aggregate_drift,
    allocation_ratio_differs,
    allocation_without_inventory,
    broken_tree,
    build_request_left,
    child_without_owner,
    consumerless_allocation,
    dangling_rows,
    dead_consumer,
    domain_elsewhere,
    doubled_allocation,
    duplicate_provider,
    evacuation_residue,
    ghost_domain,
    host_mapping_missing,
    inventory_fully_reserved,
    ironic_legacy_allocation,
    ironic_node_without_provider,
    ironic_reserved_left,
    leaked_port_allocation,
    mapping_without_cell,
    migration_residue,
    missing_allocation,
    missing_device_allocation,
    missing_domain,
    missing_port_allocation,
    missing_provider,
    orphaned_allocation,
    orphaned_provider,
    overcommitted_inventory,
    owner_trait_missing,
    pinned_twice,
    port_binding_mismatch,
    provider_identity_clash,
    reshape_incomplete,
    shelved_allocation,
    split_consumer,
    stale_instance_mapping,
    status_trait_drift,
    wrong_amount,
    wrong_owner,
    wrong_provider,
)
from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    IfComplete,
    Need,
    NotJudged,
    Scope,
    Severity,
    Unchecked,
    Verdict,
    lacking,
)


class Defect(Protocol):
    """What each file of this folder offers: words about it, and two pure functions."""

    NAME: str
    TITLE: str
    REMEDY: str

    @property
    def SEVERITIES(self) -> tuple[Severity, ...]:  # noqa: N802 (a constant of each module)
        """The severities that its findings may have, worst first.

        Each module has it as a constant, hence the capitals. A property lets the tuple have any
        length: for a plain attribute, mypy requires exactly the declared type.
        """

    @property
    def NEEDS(self) -> tuple[Need, ...]:  # noqa: N802 (a constant of each module)
        """What its findings rest on. `ask` checks it, so no defect can forget to."""

    @property
    def SCOPE(self) -> Scope:  # noqa: N802 (a constant of each module)
        """Whether it can be judged of a selection."""

    def find(self, facts: Facts, options: AuditOptions) -> Iterator[Verdict | IfComplete]: ...

    def remedy(self, finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason: ...


DEFECTS: tuple[Defect, ...] = (
    # The most dangerous defect. Among findings of one severity, earlier defects come first.
    domain_elsewhere,
    orphaned_allocation,
    dead_consumer,
    evacuation_residue,
    migration_residue,
    missing_allocation,
    wrong_provider,
    doubled_allocation,
    wrong_amount,
    shelved_allocation,
    missing_port_allocation,
    leaked_port_allocation,
    port_binding_mismatch,
    missing_device_allocation,
    wrong_owner,
    missing_provider,
    provider_identity_clash,
    orphaned_provider,
    duplicate_provider,
    child_without_owner,
    overcommitted_inventory,
    inventory_fully_reserved,
    allocation_ratio_differs,
    pinned_twice,
    allocation_without_inventory,
    reshape_incomplete,
    status_trait_drift,
    owner_trait_missing,
    aggregate_drift,
    stale_instance_mapping,
    host_mapping_missing,
    build_request_left,
    mapping_without_cell,
    ironic_node_without_provider,
    ironic_legacy_allocation,
    ironic_reserved_left,
    split_consumer,
    consumerless_allocation,
    broken_tree,
    dangling_rows,
    missing_domain,
    ghost_domain,
)

OF_WHOLE_CLOUDS = frozenset(defect.NAME for defect in DEFECTS if defect.SCOPE is Scope.WHOLE_CLOUD)


def ask(defect: Defect, facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """The verdicts of a defect on these facts, if they have what it needs; else none.

    SAFETY: where evidence must be complete and is not, its findings become `Unchecked`: a source
    that is silent, or may be out of date, may know better.
    """
    if lacking(defect.NEEDS, defect.SCOPE, facts):
        return
    gap, every = facts.coverage.gap, Need.COMPLETE in defect.NEEDS
    for found in defect.find(facts, options):
        verdict = found.finding if isinstance(found, IfComplete) else found
        if gap and isinstance(verdict, Finding) and (every or verdict is not found):
            reason = because("looks-like", gap, defect=defect.NAME)
            yield Unchecked(verdict.subject, verdict.where, reason)
        else:
            yield verdict


def not_judged(facts: Facts) -> tuple[NotJudged, ...]:
    """The defects that are not asked, and what the facts lack for each."""
    every = ((defect.NAME, lacking(defect.NEEDS, defect.SCOPE, facts)) for defect in DEFECTS)
    return tuple(NotJudged(name, lacks) for name, lacks in every if lacks)
