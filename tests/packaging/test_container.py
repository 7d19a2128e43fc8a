# SPDX-License-Identifier: Apache-2.0
"""packaging/container: what an image promises to those who run it.

`make fresh` does the steps, and runs both images without root in a tree that is read-only.
"""

import re
import subprocess
import tomllib

import pytest
import yaml

from tests.packaging.containerfile import FOLDER, image, last, stages
from tests.tree import REPOSITORY
from trueup.cli.commands.serve import ServeCommand
from trueup.cli.commands.watch import WatchCommand

OURS = FOLDER / "Containerfile"
KNOWN = {"ARG", "RUN", "COPY", "ENV", "WORKDIR", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}
COMMANDS = {"service": ("serve", ServeCommand), "watch": ("watch", WatchCommand)}
FILES = sorted(FOLDER.glob("Containerfile*"))
WATCHED = sorted((REPOSITORY / "packaging" / "watch").glob("*.yaml"))
VALUES = REPOSITORY / "packaging" / "openstack-helm" / "values.yaml"


@pytest.mark.parametrize("path", FILES, ids=lambda one: one.name)
def test_every_instruction_is_one_and_every_step_a_script(path):
    for stage in stages(path).values():
        for instruction in stage.instructions:
            assert instruction.name in KNOWN
            if instruction.name == "RUN":
                subprocess.run(["bash", "-n"], input=instruction.rest, text=True, check=True)


@pytest.mark.parametrize("path", FILES, ids=lambda one: one.name)
def test_no_downloaded_packages_are_left(path):
    steps = [
        instruction.rest
        for stage in stages(path).values()
        for instruction in stage.instructions
        if instruction.name == "RUN"
    ]
    for step in steps:
        assert ("apt-get install" in step) == ("rm -rf /var/lib/apt/lists/*" in step)
        assert ("pip install" in step) == ("--no-cache-dir" in step)


@pytest.mark.parametrize("path", FILES, ids=lambda one: one.name)
def test_a_build_may_name_the_image_to_begin_from(path):
    found = stages(path)
    [first] = found[""].instructions
    assert re.fullmatch(r"BASE=\S+:\S+", first.rest)
    parents = {stage.parent for stage in found.values()} - {""}
    assert parents - set(found) == {"${BASE}"}


@pytest.mark.parametrize("target", COMMANDS)
def test_an_image_is_not_root_and_asks_itself_whether_it_is_healthy(target):
    made = image(OURS, target)
    verb, command = COMMANDS[target]
    program, word, *rest = last(made, "CMD").command
    assert (program, word) == ("trueup", verb)
    command(None, None).get_parser(f"trueup {verb}").parse_args(rest)
    assert last(made, "USER").rest == "42424:42424"
    port = last(made, "EXPOSE").rest
    assert any(option.endswith(port) for option in rest)
    assert f"127.0.0.1', {port}" in last(made, "HEALTHCHECK").rest


def test_kollas_image_keeps_kollas_user():
    assert (
        last(image(FOLDER / "Containerfile.kolla", "Containerfile.kolla"), "USER").rest
        == "placement"
    )


@pytest.mark.parametrize("path", WATCHED, ids=lambda one: one.name)
def test_kubernetes_runs_the_image_of_the_watch_as_its_user(path):
    text = path.read_text()
    assert re.findall(r"image: (\S+):", text) == ["registry.example.org/trueup/watch"]
    assert re.findall(r"(?:runAsUser|fsGroup): (\d+)", text) == ["42424", "42424"]


def test_images_are_named_by_the_version_of_this_release():
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    page = REPOSITORY / "docs" / "service" / "deployment-tools.md"
    named = {
        tag
        for path in (*FILES, *WATCHED, VALUES, page)
        for tag in re.findall(r"trueup/[a-z-]+:(\d\S*)", path.read_text())
    }
    assert named == {version}


def test_openstack_helm_runs_the_image_of_the_service():
    values = yaml.safe_load(VALUES.read_text())
    tags = values["images"]["tags"]
    assert set(tags) == {"placement", "placement_db_sync"}
    assert {tag.rpartition(":")[0] for tag in tags.values()} == {
        "registry.example.org/trueup/service"
    }
