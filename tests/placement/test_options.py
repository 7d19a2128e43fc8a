# SPDX-License-Identifier: Apache-2.0
"""The options, compared with upstream's."""

from typing import Any

import pytest
from oslo_config import cfg
from placement import conf as upstream

from trueup.placement import config
from trueup.placement.options import OPTIONS, list_options

# Upstream's values that depend on its installation.
OF_THE_PLACE = {("DEFAULT", "pybasedir"), ("DEFAULT", "state_path")}


def options_of(source: cfg.ConfigOpts) -> dict[tuple[str, str], cfg.Opt]:
    groups = {"DEFAULT": source._opts} | {
        name: group._opts for name, group in source._groups.items()
    }
    return {
        (group, name): entry["opt"]
        for group, opts in groups.items()
        for name, entry in opts.items()
    }


def registered(register: Any) -> dict[tuple[str, str], cfg.Opt]:
    source = cfg.ConfigOpts()
    register(source)
    return options_of(source)


def test_every_option_of_upstreams_is_there_with_its_default():
    theirs, ours = registered(upstream.register_opts), registered(config.register)
    assert set(theirs) <= set(ours)
    for place, option in theirs.items():
        same = (type(ours[place].type), ours[place].secret, ours[place].default)
        expected = (type(option.type), option.secret, option.default)
        assert same[:2] == expected[:2], place
        assert place in OF_THE_PLACE or same[2] == expected[2], place


def test_no_option_of_ours_is_in_a_group_of_upstreams():
    """A valid file for Trueup must be valid for upstream."""
    theirs, ours = registered(upstream.register_opts), registered(config.register)
    groups = {group for group, _ in theirs}
    assert not {place for place in ours if place not in theirs and place[0] in groups}


def test_old_places_of_options_are_still_read(tmp_path):
    file = tmp_path / "placement.conf"
    file.write_text("[DEFAULT]\nauth_strategy = noauth2\n")
    source = config.load([f"--config-file={file}"], {})
    assert config.read(source).auth_strategy == "noauth2"


@pytest.mark.parametrize(
    "option",
    [option for options in OPTIONS.values() for option in options],
    ids=lambda option: option.name,
)
def test_every_option_says_what_it_does(option):
    assert option.help


def test_generators_find_every_group():
    assert {group for group, _ in list_options()} == set(OPTIONS)
