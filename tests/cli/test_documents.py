# SPDX-License-Identifier: Apache-2.0
"""JSON and YAML are one document; with columns they are the rows of the table."""

import json

import pytest
import yaml

from tests.cli.running import ROWS, trueup


def test_json_and_yaml_say_the_same(nova_conf):
    as_json = trueup("audit", "-f", "json").json()
    as_yaml = yaml.safe_load(trueup("audit", "-f", "yaml").out)
    # These have times, and ages in seconds.
    moving = ("taken_at", "coverage", "findings", "hanging")
    assert as_json["counts"] == as_yaml["counts"]
    assert as_json.keys() == as_yaml.keys()
    assert {name: v for name, v in as_json.items() if name not in moving} == {
        name: v for name, v in as_yaml.items() if name not in moving
    }


def test_with_columns_the_rows_of_the_table_are_printed(nova_conf):
    rows = trueup("audit", *ROWS).json()
    # The rows also show what cannot end by itself, of which the document tells in `hanging`.
    findings = [row for row in rows if row["Verdict"] == "finding"]
    assert len(findings) == len(trueup("audit", "-f", "json").json()["findings"])
    [by_column, *_] = trueup("audit", "-f", "json", "--sort-column", "Subject").json()
    assert by_column["Subject"] == min(row["Subject"] for row in rows)


@pytest.mark.parametrize("options", [(), ("--noindent",)])
def test_the_document_is_indented_unless_that_is_refused(nova_conf, options):
    out = trueup("audit", "-f", "json", *options).out
    assert (len(out.splitlines()) == 1) is bool(options)
    assert json.loads(out)["format"] == 1
