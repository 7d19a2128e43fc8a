# SPDX-License-Identifier: Apache-2.0
"""The examples of packaging/watch: commands that are accepted, and probes of what is served."""

import re
import shlex
from collections.abc import Iterator

import pytest
import yaml

from tests.tree import REPOSITORY
from trueup.cli.commands.watch import WatchCommand

FOLDER = REPOSITORY / "packaging" / "watch"


def commands() -> Iterator[tuple[str, list[str]]]:
    """The command line of each example."""
    for name in ("trueup-watch.service", "trueup-watch-repair.conf"):
        unit = (FOLDER / name).read_text()
        [line] = re.findall(r"^ExecStart=(.+)$", unit, re.MULTILINE)
        yield name, shlex.split(line)
    for path in sorted(FOLDER.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        spec = document["spec"]
        spec = spec["jobTemplate"]["spec"] if document["kind"] == "CronJob" else spec
        [container] = spec["template"]["spec"]["containers"]
        yield path.name, container["command"]


@pytest.mark.parametrize(
    ("name", "words"), list(commands()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_the_commands_of_the_examples_are_accepted(name, words):
    program, verb, *rest = words
    assert (program.rpartition("/")[2], verb) == ("trueup", "watch")
    parsed = WatchCommand(None, None).get_parser("trueup watch").parse_args(rest)
    assert str(parsed.state_dir) == "/var/lib/trueup"


def test_what_lets_the_unit_repair_changes_only_that():
    unit, repair = (words for name, words in commands() if not name.endswith("yaml"))
    assert repair == [*unit, "--repair"]


def test_the_probes_ask_what_is_served():
    document = yaml.safe_load((FOLDER / "kubernetes-deployment.yaml").read_text())
    [container] = document["spec"]["template"]["spec"]["containers"]
    probes = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("readiness", "liveness")]
    assert probes == ["/readyz", "/livez"]
    assert document["spec"]["replicas"] == 1
