# SPDX-License-Identifier: Apache-2.0
"""The program around the commands: its configuration, and what does not answer."""

import pytest
from oslo_config import cfg

from tests.cli.nova_manage.twins import Twins
from tests.cli.running import trueup

pytestmark = pytest.mark.xdist_group("nova-manage")

HEAL = "heal_allocations"


def test_a_placement_that_does_not_answer(twins: Twins, tmp_path) -> None:
    conf = tmp_path / "nova.conf"
    written = twins.cloud.nova_conf.read_text()
    conf.write_text(written.replace(twins.cloud.placement_url, "http://127.0.0.1:1"))
    ran = trueup("nova-manage", "--config-file", conf, "placement", HEAL)
    assert (ran.code, ran.out) == (3, "Unable to communicate with the Placement API.\n")


def test_a_database_that_does_not_answer(twins: Twins, tmp_path) -> None:
    conf = tmp_path / "nova.conf"
    conf.write_text(twins.cloud.nova_conf.read_text().replace("nova_api.sqlite", "no/such"))
    ran = trueup("nova-manage", "--config-file", conf, "placement", HEAL)
    assert ran.code == 255
    assert ran.out.startswith("An error has occurred:\n")


def test_without_a_nova_conf_it_says_what_to_name(monkeypatch) -> None:
    monkeypatch.delenv("TRUEUP_NOVA_CONF", raising=False)
    monkeypatch.setattr(cfg, "find_config_files", lambda **_: [])
    monkeypatch.setattr(cfg, "find_config_dirs", lambda **_: [])
    ran = trueup("nova-manage", "placement", HEAL)
    assert ran.code == 255
    assert ran.out.startswith("An error has occurred:\nnova.conf cannot be used: there is none in")
    assert "with --config-file" in ran.out


def test_configuration_from_a_folder(twins: Twins, tmp_path) -> None:
    folder = tmp_path / "nova.conf.d"
    folder.mkdir()
    (folder / "all.conf").write_text(twins.cloud.nova_conf.read_text())
    twins.keep_alive()
    ran = trueup("nova-manage", "--config-dir", folder, "placement", HEAL, "--verbose")
    assert ran.code == 4
    assert ran.out.endswith("Processed 0 instances.\n")


def test_an_option_before_the_category_is_not_the_programs_own(twins: Twins) -> None:
    """--verbose and --debug are names of options of `trueup` too."""
    twins.keep_alive()
    words = ("nova-manage", "--debug", "--config-file", twins.cloud.nova_conf, "placement", HEAL)
    assert trueup(*words).out == ""
    assert trueup(*words, "--verbose").out.endswith("Processed 0 instances.\n")


@pytest.mark.parametrize("words", [[], ["placement"], ["placement", "nosuch"], ["cell_v2"]])
def test_other_commands_are_not_ours(words) -> None:
    with pytest.raises(SystemExit) as end:
        trueup("nova-manage", *words)
    assert end.value.code == 2
