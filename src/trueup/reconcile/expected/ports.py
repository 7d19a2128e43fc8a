# SPDX-License-Identifier: Apache-2.0
"""Ports: the bandwidth and packet rate that an instance's ports request."""

from collections.abc import Iterator

from trueup.reconcile.expected.host_providers import HostProviders, on_one_of
from trueup.reconcile.expected.parts import ExpectedPart, Known
from trueup.reconcile.facts import Port


def port_parts(port: Port, host: HostProviders) -> Iterator[ExpectedPart]:
    """One part for each request group, from the provider in the port's binding profile.

    If the port names none, or one of another host, every provider with the classes is possible.
    """
    here = {provider.uuid for provider in host.tree}
    for group in port.request_groups:
        source = f"port {port.id}"
        named = (port.allocation or {}).get(group.id)
        if named is not None and named in here:
            yield Known(source, group.resources, named)
        else:
            yield on_one_of(source, group.resources, host.having(group.resources))
