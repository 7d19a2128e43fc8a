# SPDX-License-Identifier: Apache-2.0
"""What osc-lib asks of a plugin: its name, its versions, its options, its client."""

import argparse
from typing import Any

API_NAME = "trueup"
API_VERSION_OPTION = "os_trueup_api_version"
API_VERSIONS = {"1": "trueup.osc.plugin"}
DEFAULT_API_VERSION = "1"


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The plugin's only option of the client itself: the version of its commands."""
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
