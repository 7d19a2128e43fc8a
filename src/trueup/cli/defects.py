# SPDX-License-Identifier: Apache-2.0
"""trueup defects: what Trueup looks for."""

import argparse

from trueup.cli.verb import Verb
from trueup.reconcile.report.tables import DEFECTS_COLUMNS, Columns, Table, defects_table


class DefectsCommand(Verb):
    """List the defects that an audit looks for, and the remedy of each."""

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return DEFECTS_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        return defects_table()
