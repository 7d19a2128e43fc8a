# SPDX-License-Identifier: Apache-2.0
"""Ends the connections of clients that began a request, and then fell silent.

A web server with a thread for each request waits for them without a limit.
"""

import os
import socket
import struct
import threading
from contextlib import suppress

SILENCE_SECONDS_MAX = 60
"""Longer than any request takes, so that no client that waits for an answer is silent for so long.
The server itself ends connections without a request earlier."""
_SECONDS_BETWEEN_LOOKS = 5.0
_FILES = "/proc/self/fd"

# Of the kernel's tcp_info: milliseconds since data was last sent, and received.
_LAST_SENT_AT, _LAST_RECEIVED_AT = 44, 52
_COUNTERS_LENGTH = 104


def watch(port: int) -> None:
    """End silent connections to this port of this process from now on."""
    thread = threading.Thread(target=_look_for_ever, args=(port,), name=__name__, daemon=True)
    thread.start()


def _look_for_ever(port: int) -> None:
    pause = threading.Event()
    while not pause.wait(_SECONDS_BETWEEN_LOOKS):
        end_silent(port, SILENCE_SECONDS_MAX)


def end_silent(port: int, seconds: float) -> None:
    """End the connections to this port that have carried nothing for so long."""
    for name in os.listdir(_FILES):
        # Others close files meanwhile.
        with suppress(OSError):
            if os.readlink(f"{_FILES}/{name}").startswith("socket:"):
                _end_if_silent(os.dup(int(name)), port, seconds)


def _end_if_silent(file: int, port: int, seconds: float) -> None:
    with socket.socket(fileno=file) as found:
        if _is_silent(found, port, seconds):
            found.shutdown(socket.SHUT_RDWR)


def _is_silent(found: socket.socket, port: int, seconds: float) -> bool:
    """Raises OSError for a socket without a peer."""
    if found.family not in (socket.AF_INET, socket.AF_INET6) or found.getsockname()[1] != port:
        return False
    found.getpeername()
    told = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _COUNTERS_LENGTH)
    return all(
        struct.unpack_from("I", told, at)[0] >= seconds * 1000
        for at in (_LAST_SENT_AT, _LAST_RECEIVED_AT)
    )
