# SPDX-License-Identifier: Apache-2.0
"""placement-api as a program: the service of placement.conf on a port."""

import argparse

from trueup.cli.main import main as trueup


def main() -> int:
    """Serve until SIGTERM; the options are those that the script always had."""
    parser = argparse.ArgumentParser(description="Serve the Placement API, for tests.")
    parser.add_argument("--port", "-p", default="8000", help="(default: %(default)s)")
    parser.add_argument("--host", "-b", default="0.0.0.0", help="(default: %(default)s)")
    said = parser.parse_args()
    return int(trueup(["serve", "--host", said.host, "--port", said.port]))
