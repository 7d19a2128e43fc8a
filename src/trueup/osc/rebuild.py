# SPDX-License-Identifier: Apache-2.0
"""`openstack trueup rebuild`, in a module of its own: it needs both halves of Trueup."""

import argparse

from trueup.cli.commands.rebuild import RebuildCommand
from trueup.cli.terminal.options import OptionRefused
from trueup.osc.of_client import OfClientsCloud


class Rebuild(OfClientsCloud, RebuildCommand):
    __doc__ = RebuildCommand.__doc__

    def check(self, arguments: argparse.Namespace) -> None:
        if not arguments.nova_database:
            raise OptionRefused(
                "--nova-database",
                "a rebuild needs it, because Nova's API does not list the resources of hosts; name "
                "Nova's API database",
            )
        super().check(arguments)
