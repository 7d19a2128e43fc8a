# SPDX-License-Identifier: Apache-2.0
"""The database check behind /healthcheck."""

from trueup.placement import config
from trueup.placement.health import DatabaseAnswers
from trueup.placement.store import schema


def check(url: str) -> tuple[bool, str]:
    settings = config.from_mapping({"placement_database": {"connection": url}})
    result = DatabaseAnswers(settings.source, {}).healthcheck(0)
    return result.available, result.reason


def test_a_database_that_answers_is_well(fresh_database):
    url = fresh_database("sqlite")
    schema.create(url)
    assert check(url) == (True, "OK")


def test_a_lost_database_is_reported():
    url = "mysql+pymysql://placement:secret@127.0.0.1:1/placement"
    assert check(url) == (False, "The database does not answer")
