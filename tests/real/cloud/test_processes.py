# SPDX-License-Identifier: Apache-2.0
"""Nothing of the cloud outlives it, and what ends by itself is noticed."""

import os

import pytest

from tests.real.cloud.processes import CommandFailed, DidNotHappen, processes_in, run, wait_until

# A server with a child; the child's number is the first line of its log.
PARENT = ("sh", "-c", "sleep 600 & echo $!; wait")


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def child_of(processes, name):
    log = processes.log(name)
    wait_until(lambda: log.exists() and log.read_text().endswith("\n"), "the child starts")
    return int(log.read_text())


def test_children_end_with_their_parent(tmp_path):
    with processes_in(tmp_path) as processes:
        processes.start("server", PARENT, os.environ)
        child = child_of(processes, "server")
        processes.kill("server")
        wait_until(lambda: not is_alive(child), "the child ends")
        assert not processes.is_running("server")


def test_everything_ends_with_the_block(tmp_path):
    with processes_in(tmp_path) as processes:
        processes.start("server", PARENT, os.environ)
        child = child_of(processes, "server")
    wait_until(lambda: not is_alive(child), "the child ends")


def test_what_ended_by_itself_is_named(tmp_path):
    with processes_in(tmp_path) as processes:
        processes.start("short", ("true",), os.environ)
        processes.start("long", PARENT, os.environ)
        wait_until(lambda: processes.ended() == ["short"], "it ends")


def test_an_unexpected_exit_code_is_an_error_with_what_was_said():
    with pytest.raises(CommandFailed, match="ended with 3:\nno\n"):
        run(("sh", "-c", "echo no; exit 3"), os.environ)
    assert run(("sh", "-c", "exit 3"), os.environ, expected=(0, 3)).returncode == 3


def test_waiting_ends():
    with pytest.raises(DidNotHappen, match="the moon: not within 0 s"):
        wait_until(lambda: False, "the moon", 0)
