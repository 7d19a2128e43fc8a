# SPDX-License-Identifier: Apache-2.0
"""Lines of the request log. The oracle is oslo.log's own formatter."""

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oslo_config import cfg
from oslo_context.context import RequestContext
from oslo_log import log
from oslo_log.formatters import ContextFormatter

from trueup.placement.request_log import LOGGER, RequestLogFormatter, install

_TEXT = st.text(max_size=10)
_MAYBE = st.none() | _TEXT
_CONTEXTS = st.fixed_dictionaries(
    {},
    optional={
        "user_id": _MAYBE,
        "user_name": _MAYBE,
        "domain_id": _MAYBE,
        "user_domain_id": _MAYBE,
        "project_domain_id": _MAYBE,
        "project_id": _MAYBE,
        "project_name": _MAYBE,
        "system_scope": _MAYBE,
        "global_request_id": _MAYBE,
        "resource_uuid": _MAYBE,
        "auth_token": _MAYBE,
    },
)
_LINES = st.sampled_from(
    (
        None,
        "%(message)s",
        "%(asctime)s %(isotime)s %(message)s",
        "%(project)s %(version)s %(user_identity)s %(color)s%(instance)s%(message)s",
        "%(user_name)s %(auth_token)s %(error_summary)s %(message)s",
        "%(created)d %(lineno)d %(roles)s %(resource_uuid)s %(message)s",
        "%(created)d 100%% %(instance)s%(color)s%(resource)s%(levelname)s %(request_id)s",
        "%(asctime)s.%(msecs)03d %(name)s %(user_identity)s",
    )
)
_IDENTITIES = st.sampled_from((None, "%(project_domain)s/%(user)s", "%(user_name)s %(user)s", "-"))
_TIMES = st.tuples(
    st.none() | st.sampled_from(("%H:%M:%S", "%d")), st.lists(st.floats(0, 9), min_size=1)
)


def formatters(
    line: str | None, identity: str | None = None, date_format: str | None = None
) -> tuple[ContextFormatter, RequestLogFormatter]:
    source = cfg.ConfigOpts()
    log.register_options(source)
    source([], default_config_files=[], default_config_dirs=[], use_env=False)
    if line is not None:
        source.set_override("logging_context_format_string", line)
    if identity is not None:
        source.set_override("logging_user_identity_format", identity)
    original = ContextFormatter(
        project="placement", version="1", datefmt=date_format, config=source
    )
    return original, RequestLogFormatter(original)


def record(name: str, level: int, seconds: float, arguments: tuple[Any, ...]) -> logging.LogRecord:
    made = logging.LogRecord(name, level, "wsgi.py", 7, '%s "%s"', arguments, None)
    made.created, made.msecs = 1_800_000_000 + seconds, seconds % 1 * 1000
    return made


@given(
    st.tuples(_LINES, _IDENTITIES),
    _TIMES,
    _CONTEXTS,
    st.sampled_from((LOGGER, "placement.other")),
    st.sampled_from((logging.INFO, logging.WARNING)),
    st.tuples(_TEXT, _TEXT),
)
def test_the_text_is_that_of_oslo_log(formats, times, of_context, name, level, arguments):
    RequestContext(**of_context)
    date_format, moments = times
    theirs, ours = formatters(*formats, date_format)
    for seconds in moments:
        expected = theirs.format(record(name, level, seconds, arguments))
        assert ours.format(record(name, level, seconds, arguments)) == expected


def test_only_handlers_of_oslo_log_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    theirs, plain = logging.StreamHandler(), logging.StreamHandler()
    theirs.setFormatter(formatters(None)[0])
    monkeypatch.setattr(root, "handlers", [theirs, plain])
    install()
    assert isinstance(theirs.formatter, RequestLogFormatter)
    assert plain.formatter is None
