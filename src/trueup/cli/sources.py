# SPDX-License-Identifier: Apache-2.0
"""Where a command's facts come from: a cloud or a snapshot, and how much of it."""

import argparse
from pathlib import Path
from typing import Any

from trueup.cli.terminal.progress import Report, progress
from trueup.cli.verb import CloudVerb
from trueup.reconcile.audit import Observation, observation
from trueup.reconcile.collect import collect
from trueup.reconcile.collect.selection import Selection, chosen, refuse_empty
from trueup.reconcile.copies.snapshot import load
from trueup.reconcile.facts import Facts
from trueup.reconcile.runs import Observer
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.verdicts import AuditOptions

_SELECTORS = {
    "instances": ("--instance", "UUID", "an instance"),
    "hosts": ("--host", "NAME", "what is on a host, or holds resources of it"),
    "providers": ("--provider", "NAME", "what holds resources of a provider (name or uuid)"),
    "cells": ("--cell", "NAME", "what is in a cell (name or uuid)"),
    "projects": ("--project", "ID", "the instances of a project"),
    "consumers": ("--consumer", "UUID", "a consumer of any kind"),
}


class FactsVerb(CloudVerb):
    """A command that reads facts, of all or of a selection."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        which = parser.add_argument_group(
            "selection",
            "Each may be given several times, and selects what any of its values selects. "
            "Different selectors together select what all of them select.",
        )
        for destination, (option, metavar, words) in _SELECTORS.items():
            which.add_argument(
                option,
                dest=destination,
                metavar=metavar,
                action="append",
                default=[],
                help=f"only {words}",
            )
        return parser

    def observed(self, arguments: argparse.Namespace, options: AuditOptions) -> Observation:
        """The observation of a cloud, or of a snapshot that --from names."""
        if arguments.snapshot:
            seen = observation(kept_facts(arguments), options)
        else:
            with self.cloud(arguments) as cloud, progress() as report:
                seen = Observer(cloud, options, report, selection(arguments)).observe()
        refuse_empty(seen.facts, selection(arguments))
        return seen


def add_from_option(parser: argparse.ArgumentParser) -> None:
    """--from, for the commands that only look."""
    parser.add_argument(
        "--from",
        dest="snapshot",
        metavar="FILE",
        type=Path,
        help="look at 'trueup snapshot save FILE' instead of a cloud",
    )


def selection(arguments: argparse.Namespace) -> Selection:
    """What the selectors say."""
    names: dict[str, Any] = {name: frozenset(getattr(arguments, name)) for name in _SELECTORS}
    return Selection(**names)


def living_facts(cloud: Cloud, arguments: argparse.Namespace, report: Report) -> Facts:
    """What is selected of a cloud."""
    return collect(cloud, report, selection(arguments))


def kept_facts(arguments: argparse.Namespace) -> Facts:
    """What is selected of a snapshot. Raises FileUnreadable, SelectionUnknown."""
    return chosen(load(arguments.snapshot).facts, selection(arguments))
