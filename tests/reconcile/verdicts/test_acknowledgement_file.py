# SPDX-License-Identifier: Apache-2.0
"""Acknowledgements are read from TOML, and refused with a reason where something is missing."""

from dataclasses import replace
from datetime import date

import pytest

from trueup.reconcile.verdicts import Acknowledgement
from trueup.reconcile.verdicts.acknowledgement_file import AcknowledgementsUnreadable, add, load

GOOD = """
[[acknowledged]]
kind = "host-gone"
name = "compute-07"
reason = "scrapped, ticket 4711"
until = 2027-06-30

[[acknowledged]]
kind = "lagging-replica"
name = "cell2"
reason = "a report replica"
until = 2027-01-01
by = "ann"
"""


def test_each_table_is_one(tmp_path):
    path = tmp_path / "acknowledged.toml"
    path.write_text(GOOD)
    assert load(path) == (
        Acknowledgement("host-gone", "compute-07", "scrapped, ticket 4711", date(2027, 6, 30)),
        Acknowledgement("lagging-replica", "cell2", "a report replica", date(2027, 1, 1), "ann"),
    )
    path.write_text("")
    assert load(path) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('kind = "host-gone"', 'kind = "host-away"'),
        ('kind = "host-gone"\n', ""),
        ('kind = "host-gone"', 'kind = "port-provider"'),
        ('kind = "host-gone"', 'kind = "host-gone"\nprovider = "nic"'),
        ('name = "compute-07"\n', ""),
        ('name = "compute-07"', 'name = ""'),
        ('reason = "scrapped, ticket 4711"', 'reason = " "'),
        ("until = 2027-06-30\n", ""),
        ("until = 2027-06-30", "until = 7"),
        ("[[acknowledged]]", "[[acknowleged]]"),
        ('by = "ann"', 'bye = "ann"'),
        ("[[acknowledged]]", "nonsense"),
    ],
)
def test_what_lacks_something_is_refused_by_name(tmp_path, old, new):
    path = tmp_path / "acknowledged.toml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(AcknowledgementsUnreadable) as refused:
        load(path)
    assert refused.value.path == str(path)
    assert refused.value.reason


def test_a_file_that_is_named_has_to_be_there(tmp_path):
    with pytest.raises(AcknowledgementsUnreadable, match="No such file"):
        load(tmp_path / "none.toml")


MUTED = Acknowledgement(
    "finding",
    "wrong-provider:0f3c",
    'a "quoted" reason,\n\x7fpath C:\\x, Grüße',
    date(2027, 2, 3),
    "ann",
)


def test_one_is_added_behind_what_an_operator_wrote(tmp_path):
    path = tmp_path / "acknowledged.toml"
    path.write_text(f"# ours\n{GOOD}")
    before = load(path)
    add(path, MUTED)
    assert path.read_text().startswith(f"# ours\n{GOOD.rstrip()}")
    assert load(path) == (*before, MUTED)


def test_the_first_one_makes_the_file(tmp_path):
    add(tmp_path / "new.toml", MUTED)
    assert load(tmp_path / "new.toml") == (MUTED,)


def test_a_file_that_cannot_be_read_is_left_as_it_is(tmp_path):
    path = tmp_path / "acknowledged.toml"
    path.write_text("nonsense")
    with pytest.raises(AcknowledgementsUnreadable):
        add(path, MUTED)
    assert path.read_text() == "nonsense"


def test_nothing_is_added_that_could_not_be_read_again(tmp_path):
    path = tmp_path / "acknowledged.toml"
    with pytest.raises(AcknowledgementsUnreadable):
        add(path, replace(MUTED, reason=" "))
    assert not path.exists()
