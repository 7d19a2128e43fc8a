# SPDX-License-Identifier: Apache-2.0
"""Verdicts: what an audit says, what an operator acknowledged, and how careful an audit is."""

from trueup.reconcile.reasons import Scalar, Structure
from trueup.reconcile.verdicts.acknowledgements import (
    Acknowledged,
    Acknowledgement,
    Muted,
    Verdicts,
    answer,
    names_of,
    with_choices,
)
from trueup.reconcile.verdicts.audit_options import AuditOptions
from trueup.reconcile.verdicts.findings import (
    CONSUMERS,
    Evidence,
    Finding,
    IfComplete,
    Kind,
    LeftAlone,
    Remark,
    Severity,
    Subject,
    Unchecked,
    Value,
    Verdict,
    amounts_in_words,
    domains_evidence,
    holding,
    in_order,
    instance_evidence,
    plain_words,
    service_evidence,
)
from trueup.reconcile.verdicts.needs import Need, NotJudged, Scope, lacking
