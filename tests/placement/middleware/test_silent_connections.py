# SPDX-License-Identifier: Apache-2.0
"""Silent connections to one port are ended; test_web_servers has a real server."""

import socket

from trueup.placement.middleware.silent_connections import end_silent


def test_only_silent_connections_to_this_port_are_ended() -> None:
    ours, others = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
    with ours, others:
        clients = [socket.create_connection(one.getsockname()) for one in (ours, others)]
        accepted = [one.accept()[0] for one in (ours, others)]
        port = ours.getsockname()[1]
        end_silent(port, 60)
        for client, end in zip(clients, accepted, strict=True):
            end.sendall(b"here")
            assert client.recv(9) == b"here"
        end_silent(port, 0)
        assert clients[0].recv(9) == b""
        accepted[1].sendall(b"still here")
        assert clients[1].recv(99) == b"still here"
        for one in (*clients, *accepted):
            one.close()
