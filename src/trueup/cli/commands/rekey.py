# SPDX-License-Identifier: Apache-2.0
"""trueup rekey: give the provider of a host the uuid of its compute node."""

import argparse
from uuid import UUID

from trueup.cli.runbook import RunbookVerb
from trueup.cli.terminal.options import OptionRefused
from trueup.reconcile.facts import canonical_uuid
from trueup.reconcile.plan import Plan
from trueup.reconcile.runbooks import rekey
from trueup.reconcile.runbooks.host_reading import without_provider
from trueup.reconcile.runbooks.observed import Pacing, rekeying
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.runs import Observer
from trueup.reconcile.sources.cloud import Cloud


class RekeyCommand(RunbookVerb):
    """Replace the provider of a host by one with the uuid of its compute node; nothing is lost."""

    whole = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", metavar="HOST", help="the host of the compute node")
        parser.add_argument(
            "--compute-id",
            metavar="UUID",
            help="what the file compute_id in nova-compute's state_path on the host says",
        )
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        named = arguments.compute_id
        if named is not None and not _is_uuid(named):
            raise OptionRefused("--compute-id", f"'{named}' is not a uuid")

    def purpose(self, arguments: argparse.Namespace) -> str:
        return f"{rekey.NAME}:{arguments.host}"

    def prepare(
        self, arguments: argparse.Namespace, observer: Observer, pacing: Pacing
    ) -> Prepared:
        named = arguments.compute_id
        return rekeying(arguments.host, canonical_uuid(named) if named else None, observer, pacing)

    def left(self, arguments: argparse.Namespace, cloud: Cloud, plan: Plan) -> tuple[str, ...]:
        return without_provider(cloud, arguments.host)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
