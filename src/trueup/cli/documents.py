# SPDX-License-Identifier: Apache-2.0
"""Commands whose result is one document for programs, and a table for people."""

import argparse
import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import yaml

from trueup.cli.verb import Verb

_DOCUMENTS = ("json", "yaml")


class DocumentVerb(Verb):
    """With -f json and -f yaml it prints a document, with any other format a table.

    With -c or --sort-column these are about the rows of the table, and so these are printed.
    """

    @abstractmethod
    def document(self) -> Mapping[str, Any]:
        """The document of what `act` returned."""

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, rows: Any) -> int:
        asks_for_rows = parsed_args.columns or parsed_args.sort_columns
        if parsed_args.formatter not in _DOCUMENTS or asks_for_rows:
            return super().produce_output(parsed_args, column_names, rows)
        document = self.document()
        if parsed_args.formatter == "yaml":
            # Through JSON, so that both say the same in the same types.
            plain = json.loads(json.dumps(document))
            yaml.safe_dump(plain, self.app.stdout, sort_keys=False, allow_unicode=True)
            return 0
        indent = None if parsed_args.noindent else 2
        self.app.stdout.write(json.dumps(document, indent=indent, ensure_ascii=False) + "\n")
        return 0
