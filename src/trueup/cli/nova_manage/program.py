# SPDX-License-Identifier: Apache-2.0
"""`trueup nova-manage`: the command line of Nova 34's `nova-manage placement`."""

import argparse
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cliff.command import Command

from trueup.cli.exits import explained
from trueup.cli.judging import audit_options
from trueup.cli.nova_manage import audit
from trueup.cli.nova_manage.heal_allocations import heal_allocations, refuse
from trueup.cli.nova_manage.options import add_options
from trueup.cli.nova_manage.output import ERROR, INVALID, Invalid, Output
from trueup.cli.nova_manage.sync_aggregates import sync_aggregates
from trueup.cli.terminal.options import refuse_meaningless
from trueup.cli.terminal.usage import with_short_errors
from trueup.exit_codes import ExitCode
from trueup.reconcile.clock import now
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import (
    ConfFiles,
    Databases,
    from_nova_conf,
    usual_nova_conf,
)
from trueup.reconcile.verdicts import Acknowledgement


class NovaManageCommand(Command):
    """Nova 34's 'nova-manage placement' under another name: its options, lines, return codes."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = with_short_errors(super().get_parser(prog_name))
        add_options(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        output = Output(parsed_args.verbose)
        if parsed_args.debug:
            logging.getLogger().setLevel(logging.DEBUG)
        try:
            return self._run(parsed_args, output)
        except Invalid as invalid:
            output.always(invalid.line)
            return INVALID
        except KeyboardInterrupt:
            output.note(f"{ExitCode.INTERRUPTED.meaning}.")
            return ExitCode.INTERRUPTED
        except Exception as error:
            known = explained(error)
            if known is None:
                raise
            # PARITY: Nova prints a traceback where we have a sentence.
            output.always(f"An error has occurred:\n{known[1]}")
            return ERROR

    def _run(self, arguments: argparse.Namespace, output: Output) -> int:
        refuse_meaningless(arguments)
        check, act = _ACTIONS[arguments.action]
        check(arguments)
        with _cloud(arguments) as cloud:
            return act(arguments, cloud, output)


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


def _heal(arguments: argparse.Namespace, cloud: Cloud, output: Output) -> int:
    options = audit_options(arguments)
    chosen = tuple(
        Acknowledgement("port-provider", port, "--port-provider", now().date(), provider=provider)
        for port, provider in arguments.port_provider
    )
    every = (*options.acknowledgements, *chosen)
    return heal_allocations(arguments, cloud, replace(options, acknowledgements=every), output)


def _audit(arguments: argparse.Namespace, cloud: Cloud, output: Output) -> int:
    return audit.audit(arguments, cloud, audit_options(arguments), output)


def _sync(arguments: argparse.Namespace, cloud: Cloud, output: Output) -> int:
    return sync_aggregates(arguments, cloud, audit_options(arguments), output)


def _nothing_to_refuse(arguments: argparse.Namespace) -> None:
    """Every combination of its options makes sense."""


# Each command: what refuses its options before any work, and what runs it.
_ACTIONS = {
    "heal_allocations": (refuse, _heal),
    "audit": (audit.refuse, _audit),
    "sync_aggregates": (_nothing_to_refuse, _sync),
}
