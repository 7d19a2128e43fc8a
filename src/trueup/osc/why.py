# SPDX-License-Identifier: Apache-2.0
"""`openstack trueup why`, in a module of its own: it needs the service half, and no login."""

import argparse

from trueup.cli.commands.why import WhyCommand
from trueup.cli.terminal.progress import be_quiet


class Why(WhyCommand):
    __doc__ = WhyCommand.__doc__
    auth_required = False

    def run(self, parsed_args: argparse.Namespace) -> int:
        be_quiet(self.app.options.verbose_level == 0)
        return super().run(parsed_args)
