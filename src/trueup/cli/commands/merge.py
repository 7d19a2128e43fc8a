# SPDX-License-Identifier: Apache-2.0
"""trueup merge: the providers of a host by its old and its new name become one."""

import argparse

from trueup.cli.runbook import RunbookVerb
from trueup.reconcile.plan import Plan
from trueup.reconcile.runbooks import merge
from trueup.reconcile.runbooks.host_reading import providers_left
from trueup.reconcile.runbooks.observed import Pacing, merging
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.runs import Observer
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import WholeProvider


class MergeCommand(RunbookVerb):
    """Move all allocations of a host's old provider to its new one, and delete the old one."""

    whole = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("old", metavar="OLD", help="the provider to delete (name or uuid)")
        parser.add_argument("new", metavar="NEW", help="the provider to keep (name or uuid)")
        return parser

    def purpose(self, arguments: argparse.Namespace) -> str:
        return f"{merge.NAME}:{arguments.old}:{arguments.new}"

    def prepare(
        self, arguments: argparse.Namespace, observer: Observer, pacing: Pacing
    ) -> Prepared:
        names = (arguments.old, arguments.new)
        return merging(self.purpose(arguments), names, observer, pacing)

    def left(self, arguments: argparse.Namespace, cloud: Cloud, plan: Plan) -> tuple[str, ...]:
        targets = (change.target for step in plan.steps for change in step.changes)
        deleted = {target.provider for target in targets if isinstance(target, WholeProvider)}
        return tuple(providers_left(cloud, sorted(deleted)))
