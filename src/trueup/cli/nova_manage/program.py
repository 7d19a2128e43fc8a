# SPDX-License-Identifier: Apache-2.0
"""`trueup nova-manage`: the command line of Nova 34's `nova-manage placement`."""

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cliff.command import Command

from trueup.cli.exits import explained
from trueup.cli.judging import audit_options
from trueup.cli.nova_manage import audit
from trueup.cli.nova_manage.heal_allocations import heal_allocations, refuse
from trueup.cli.nova_manage.job import Job
from trueup.cli.nova_manage.options import ERROR, INVALID, Invalid, add_options
from trueup.cli.nova_manage.sync_aggregates import sync_aggregates
from trueup.cli.terminal.given import remembered
from trueup.cli.terminal.options import refuse_meaningless
from trueup.cli.terminal.progress import interrupted
from trueup.cli.terminal.usage import with_short_errors
from trueup.reconcile.clock import now
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import ConfFiles, Databases, from_nova_conf, usual_nova_conf
from trueup.reconcile.verdicts import Acknowledgement, AuditOptions


class NovaManageCommand(Command):
    """Nova 34's 'nova-manage placement' under another name: its options, lines, return codes."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = with_short_errors(super().get_parser(prog_name))
        add_options(parser)
        self._parser = parser
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.debug:
            logging.getLogger().setLevel(logging.DEBUG)
        try:
            return self._run(parsed_args)
        except Invalid as invalid:
            sys.stdout.write(f"{invalid.line}\n")
            return INVALID
        except KeyboardInterrupt:
            return interrupted()
        except Exception as error:
            known = explained(error)
            if known is None:
                raise
            # PARITY: Nova prints a traceback where we have a sentence.
            sys.stdout.write(f"An error has occurred:\n{known[1]}\n")
            return ERROR

    def _run(self, arguments: argparse.Namespace) -> int:
        refuse_meaningless(arguments)
        # Of several files of Nova's, other commands cannot be given all.
        arguments.nova_conf = arguments.config_file[0] if len(arguments.config_file) == 1 else None
        check, act = _ACTIONS[arguments.action]
        check(arguments)
        with remembered(arguments, self._parser), _cloud(arguments) as cloud:
            return act(Job(cloud, _options(arguments), arguments))


@contextmanager
def _cloud(arguments: argparse.Namespace) -> Iterator[Cloud]:
    """The cloud of the named configuration files, or of those that nova-manage finds."""
    files = ConfFiles(tuple(arguments.config_file), tuple(arguments.config_dir))
    if not (files.files or files.folders):
        named = os.environ.get("TRUEUP_NOVA_CONF")
        files = ConfFiles((Path(named),)) if named else usual_nova_conf()
    cloud = from_nova_conf(files, Databases(placement_url=arguments.placement_database))
    try:
        yield cloud
    finally:
        cloud.close()


def _options(arguments: argparse.Namespace) -> AuditOptions:
    """The options of the audit, with each --port-provider as an acknowledgement of today."""
    options, today = audit_options(arguments), now().date()
    chosen = tuple(
        Acknowledgement("port-provider", port, "--port-provider", today, provider=provider)
        for port, provider in getattr(arguments, "port_provider", ())
    )
    return replace(options, acknowledgements=(*options.acknowledgements, *chosen))


# Each command: what refuses its options before any work, and what runs it.
_ACTIONS = {
    "heal_allocations": (refuse, heal_allocations),
    "audit": (audit.refuse, audit.audit),
    "sync_aggregates": (lambda _: None, sync_aggregates),
}
