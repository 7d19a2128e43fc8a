# SPDX-License-Identifier: Apache-2.0
"""Commands as OpenStackClient runs them: on the client's own cloud."""

import argparse
from typing import Any

from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import be_quiet
from trueup.cli.verb import CloudVerb, Verb
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import Databases, from_connection

_OTHER_CLOUD = ("--os-cloud", "--nova-conf")


class OfClient(Verb):
    """A command that the client runs, and that needs no cloud.

    `auth_required` is osc-lib's: whether the client logs in before it runs the command.
    """

    auth_required = False

    def run(self, parsed_args: argparse.Namespace) -> int:
        # The client takes -q wherever it stands on the command line.
        be_quiet(parsed_args.quiet or self.app.options.verbose_level == 0)
        return super().run(parsed_args)


class OfClientsCloud(OfClient, CloudVerb):
    """A command about the client's own cloud, whose session it uses.

    Nova is read over its API, or from its databases with --nova-database.
    """

    auth_required = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for action in parser._actions:
            if set(action.option_strings) & set(_OTHER_CLOUD):
                action.help = argparse.SUPPRESS
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        if arguments.nova_conf:
            raise OptionRefused(
                "--nova-conf",
                "it would be ignored: the client's own options (--os-cloud, OS_*) name the cloud; "
                "leave it out, or use 'trueup' in place of 'openstack trueup'",
            )
        if not (arguments.nova_database or getattr(arguments, "snapshot", None)):
            arguments.nova_api = True
        super().check(arguments)

    def connected(self, arguments: argparse.Namespace, databases: Databases) -> Cloud:
        """The cloud that the client is connected to."""
        client: Any = self.app
        connection = client.client_manager.trueup
        return from_connection(connection, arguments.nova_database, databases=databases)
