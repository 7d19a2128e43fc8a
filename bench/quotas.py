# SPDX-License-Identifier: Apache-2.0
"""Measure time and memory of `trueup quota`, after collecting.

    python -m bench.quotas --projects 10000 --instances 200000

The goal is 10 s. Every tenth project has limits of its own, in Nova and in Keystone.
"""

import argparse
import time
from dataclasses import replace

from bench.capacity import cloud_facts, memory, some_flavors
from bench.terminal import say
from trueup.reconcile.audit import audit
from trueup.reconcile.facts import Facts, Limits, Owner, QuotaRules, Quotas
from trueup.reconcile.report.quotas import quota_rows, telling
from trueup.reconcile.verdicts import AuditOptions

DEFAULTS = {"cores": 20, "ram": 51200, "instances": 10}
REGISTERED = {"servers": 10, "class:VCPU": 20, "class:MEMORY_MB": 51200}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long quota takes.")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--projects", type=int, default=10_000)
    parser.add_argument("--instances", type=int, default=200_000)
    arguments = parser.parse_args()
    facts = _owned(
        cloud_facts(arguments.hosts, arguments.instances, some_flavors(50)), arguments.projects
    )
    own = {f"project{number}": {"cores": 40} for number in range(0, arguments.projects, 10)}
    unified = {name: {"class:VCPU": 40} for name in own}
    quotas = Quotas(QuotaRules(), Limits(DEFAULTS, own), Limits(REGISTERED, unified))
    before, began = memory(), time.process_time()
    findings = audit(facts, AuditOptions()).findings
    audited = time.process_time()
    rows = quota_rows(facts, findings, quotas)
    shown = sum(telling(row, quotas) for row in rows)
    ended = time.process_time()
    say(
        f"{len(rows)} limits, {shown} shown: {ended - began:.1f} s, of which the audit of "
        f"{len(findings)} findings {audited - began:.1f} s; {memory() - before} MiB more"
    )


def _owned(facts: Facts, projects: int) -> Facts:
    """The same cloud, with its instances spread over projects, and a phantom claim for each 100."""
    rows = tuple(
        replace(row, project=f"project{number % projects}")
        for number, row in enumerate(facts.instances)
    )
    kept = tuple(row for number, row in enumerate(rows) if number % 100)
    owners = {row.uuid: Owner(row.project, "u") for row in rows}
    return replace(facts, instances=kept, owners=owners)


if __name__ == "__main__":
    main()
