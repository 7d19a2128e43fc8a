# SPDX-License-Identifier: Apache-2.0
"""A swap must lose no request: the balancer carries what is under way to its end."""

import socket
import threading
from contextlib import closing, contextmanager

import pytest

from tests.real.cloud.balancer import balancer_at
from tests.real.cloud.site import HOST
from tests.servers.processes import free_port


@contextmanager
def answering(word, may_answer, asked=None):
    """A server that reads a line, says that it was asked, and answers with a word once it may."""

    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                client.recv(100)
                if asked:
                    asked.set()
                may_answer.wait(30)
                client.sendall(word)

    with socket.create_server((HOST, 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture
def now():
    event = threading.Event()
    event.set()
    return event


def ask(port):
    client = socket.create_connection((HOST, port), timeout=30)
    client.sendall(b"hello\n")
    return client


def test_new_connections_go_to_the_new_target(now):
    with answering(b"old", now) as old, answering(b"new", now) as new:
        port = free_port()
        with balancer_at(port) as balancer:
            balancer.send_to(old)
            with closing(ask(port)) as client:
                assert client.recv(100) == b"old"
            balancer.send_to(new)
            with closing(ask(port)) as client:
                assert client.recv(100) == b"new"


def test_a_swap_waits_for_what_is_under_way(now):
    answer, asked = threading.Event(), threading.Event()
    with answering(b"old", answer, asked) as old, answering(b"new", now) as new:
        port = free_port()
        with balancer_at(port) as balancer:
            balancer.send_to(old)
            with closing(ask(port)) as client:
                assert asked.wait(30)
                swap = threading.Thread(target=balancer.send_to, args=(new,))
                swap.start()
                answer.set()
                assert client.recv(100) == b"old"
            swap.join()


def test_a_client_of_a_closed_port_is_told_by_the_end_of_its_connection():
    """And never by a reset: Nova logs the two in different words."""
    port = free_port()
    with balancer_at(port) as balancer:
        balancer.send_to(free_port())
        for _ in range(100):
            with closing(ask(port)) as client:
                assert client.recv(100) == b""
