# SPDX-License-Identifier: Apache-2.0
"""trueup retire: delete a compute service without leaving its providers behind."""

import argparse

from trueup.cli.runbook import RunbookVerb
from trueup.cli.terminal.options import OptionRefused
from trueup.reconcile.plan import Plan
from trueup.reconcile.runbooks import retire
from trueup.reconcile.runbooks.host_reading import left_of
from trueup.reconcile.runbooks.observed import Pacing, retirement
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.runs import Observer
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import WholeProvider


class RetireCommand(RunbookVerb):
    """Delete the compute service of a host, its providers, and what is left on them."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", metavar="HOST", help="the host of the compute service")
        parser.add_argument(
            "--agents-gone",
            action="store_true",
            help="where Neutron cannot be asked: no network agent runs on the host any more",
        )
        return parser

    def purpose(self, arguments: argparse.Namespace) -> str:
        return f"{retire.NAME}:{arguments.host}"

    def prepare(
        self, arguments: argparse.Namespace, observer: Observer, pacing: Pacing
    ) -> Prepared | None:
        if arguments.agents_gone and observer.cloud.neutron is not None:
            raise OptionRefused("--agents-gone", "it would be ignored: Neutron is asked")
        return retirement(arguments.host, observer, pacing, arguments.agents_gone)

    def left(self, arguments: argparse.Namespace, cloud: Cloud, plan: Plan) -> tuple[str, ...]:
        targets = (change.target for step in plan.steps for change in step.changes)
        deleted = {target.provider for target in targets if isinstance(target, WholeProvider)}
        return left_of(cloud, arguments.host, sorted(deleted))
