# SPDX-License-Identifier: Apache-2.0
"""The names and functions that osc-lib requires of a plugin."""

import argparse
from typing import Any

API_NAME = "trueup"
API_VERSION_OPTION = "os_trueup_api_version"
API_VERSIONS = {"1": "trueup.osc.plugin"}
DEFAULT_API_VERSION = "1"


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the version of the plugin's commands, its only option of the client itself."""
    parser.add_argument(
        "--os-trueup-api-version",
        metavar="<trueup-api-version>",
        default=DEFAULT_API_VERSION,
        choices=sorted(API_VERSIONS),
        help=f"version of the commands of Trueup (default: {DEFAULT_API_VERSION})",
    )
    return parser


def make_client(instance: Any) -> Any:
    """The client's own connection: its session, its region, its interface."""
    return instance.sdk_connection
