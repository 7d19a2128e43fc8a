# SPDX-License-Identifier: Apache-2.0
"""The lines are those that a real Nova printed: its transcript is made again from them."""

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from trueup.cli.nova_manage import heal_lines as lines
from trueup.reconcile.facts import Port, PortRequestGroup
from trueup.reconcile.steps import Change, PortBinding, Profile

UUID = r"([0-9a-f-]{36})"
TRANSCRIPT = (Path(__file__).parent / "transcripts" / "heal_allocations.txt").read_text()
PRINTED = sorted(
    {
        line
        for line in TRANSCRIPT.splitlines()
        if line and not re.match(r"[#$]|\[exit| consumer generation", line)
    }
)


def port_mapped(mapping: str, port: str, request: str, instance: str) -> str:
    asked = ast.literal_eval(request)
    groups = tuple(
        PortRequestGroup(one["id"], tuple(one["required"]), one["resources"])
        for one in asked["request_groups"]
    )
    there = Port(
        port, instance, "", request_groups=groups, same_subtree=tuple(asked["same_subtree"])
    )
    return lines.port_mapped(
        binding(port, {"allocation": ast.literal_eval(mapping)}), there, instance
    )


def binding(port: str, profile: dict) -> Change:
    return Change(PortBinding(port), Profile({}), Profile(profile), {port: 1})


# What a line looks like, and which function makes it again from what is found in it.
MADE_BY: dict[str, Callable[..., str]] = {
    r"Running batches of 50 until complete": lambda: lines.RUNNING,
    r"The --instance flag is required.*": lambda: lines.FORCE_NEEDS_INSTANCE,
    rf"Looking for instances in cell: {UUID}\((\w+)\)": lines.looking,
    r"Found (\d+) candidate instances\.": lambda count: lines.candidates(int(count)),
    rf"Instance {UUID} is undergoing a task state transition: (\w+)": lines.in_task,
    rf"Force flag passed for instance {UUID}": lines.forced,
    rf"The allocation of instance {UUID} is up-to-date.*": lines.up_to_date,
    rf"Successfully created allocations for instance {UUID}\.": lambda one: lines.healed(one, True),
    rf"Successfully updated allocations for instance {UUID}\.": lambda one: lines.healed(
        one, False
    ),
    rf"\[dry-run\] Create allocations for instance {UUID}: (.*)": lambda one, reported: (
        lines.rehearsed(one, True, json.loads(reported))
    ),
    r"Processed (\d+) instances\.": lambda count: lines.processed(int(count)),
    r"Compute host (\w+) could not be found\.": lines.no_compute_node,
    rf"Cell with uuid {UUID} was not found\.": lines.no_cell,
    rf"Unable to find cell for instance {UUID}, .*": lines.not_mapped,
    rf"Failed to update allocations for consumer {UUID}\. Error: (.*)": lines.not_updated,
    rf"Found a request group : resource provider mapping (.*) for the port {UUID} with resource "
    rf"request (.*) attached to the instance {UUID}": port_mapped,
    rf"Updating port {UUID} with attributes (.*)": lambda port, reported: lines.port_updated(
        binding(port, ast.literal_eval(reported)["binding:profile"])
    ),
}


@pytest.mark.parametrize("line", PRINTED, ids=range(len(PRINTED)))
def test_a_line_of_a_real_nova_is_made_again(line: str) -> None:
    [(pattern, make)] = [
        (pattern, make) for pattern, make in MADE_BY.items() if re.fullmatch(pattern, line)
    ]
    found = re.fullmatch(pattern, line)
    assert found is not None
    assert make(*found.groups()) == line


def test_the_transcript_has_every_kind_of_line() -> None:
    assert all(any(re.fullmatch(one, line) for line in PRINTED) for one in MADE_BY)
