# SPDX-License-Identifier: Apache-2.0
"""Names of hosts that differ in capital letters only, where Nova's database takes them for one.

MySQL and MariaDB compare names without case unless a site chose another collation; PostgreSQL does
not. So a name is compared here as its database does, and no rule has to. Pure.
"""

from collections.abc import Iterable, Mapping

from trueup.reconcile.collect.scope import as_compared
from trueup.reconcile.facts import ComputeNode, grouped


def spellings(nodes: Iterable[ComputeNode]) -> Mapping[str, str]:
    """How compute nodes spell each host, by the name as it is compared; if all spell it alike."""
    every = grouped((as_compared(row.host), row.host) for row in nodes if row.host)
    return {name: hosts[0] for name, hosts in every.items() if len({*hosts}) == 1}
