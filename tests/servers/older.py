# SPDX-License-Identifier: Apache-2.0
"""Upstream's Placement as older releases offer it: with the microversions of their time.

Each callable is a factory for `placement_server`. What a release answers at a microversion does
not change later, so leaving out the later ones makes its API.
"""

from placement import microversion

from tests.servers import upstream
from tests.servers.upstream import Settings, UpstreamApplication

# Newest microversion → releases of openstack-placement that have it.
NEWEST = {
    "1.31": ("1.1.0",),
    "1.36": ("2.0.1", "3.0.1", "4.0.0", "5.0.1"),
    "1.38": ("6.0.0",),
}


def stein(database_url: str, settings: Settings | None = None) -> UpstreamApplication:
    return _up_to("1.31", database_url, settings)


def train(database_url: str, settings: Settings | None = None) -> UpstreamApplication:
    """Also Ussuri, Victoria and Wallaby."""
    return _up_to("1.36", database_url, settings)


def xena(database_url: str, settings: Settings | None = None) -> UpstreamApplication:
    return _up_to("1.38", database_url, settings)


def _up_to(newest: str, database_url: str, settings: Settings | None) -> UpstreamApplication:
    known = microversion.VERSIONS
    # The process serves nothing else.
    del known[known.index(newest) + 1 :]
    return upstream.make_app(database_url, settings)
