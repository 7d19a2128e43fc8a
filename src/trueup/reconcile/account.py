# SPDX-License-Identifier: Apache-2.0
"""The account and the host that this program runs as."""

import getpass
import os
import socket


def user_name() -> str:
    """The name of our account, or its number: in a container it may have no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def host_name() -> str:
    """The name of our host."""
    return socket.gethostname()
