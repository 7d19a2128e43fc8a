# SPDX-License-Identifier: Apache-2.0
"""The combined metadata of a host's aggregates. Pure."""

from trueup.reconcile.facts import SchedulerHost


def values(host: SchedulerHost, key: str) -> set[str]:
    """The values of a key in all aggregates that have it."""
    return {aggregate.metadata[key] for aggregate in host.aggregates if key in aggregate.metadata}


def words(host: SchedulerHost) -> dict[str, set[str]]:
    """The words of each key: a value is a list with commas."""
    found: dict[str, set[str]] = {}
    for aggregate in host.aggregates:
        for key, value in aggregate.metadata.items():
            found.setdefault(key, set()).update(word.strip() for word in value.split(","))
    return found


def least(host: SchedulerHost, key: str, default: int) -> int:
    """The least number of a key. PARITY: a value that is not a number voids all others."""
    try:
        return min((int(value) for value in values(host, key)), default=default)
    except ValueError:
        return default
