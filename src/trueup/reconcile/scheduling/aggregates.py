# SPDX-License-Identifier: Apache-2.0
"""What the host aggregates of a host say together. Pure."""

from trueup.reconcile.facts import SchedulerHost


def values(host: SchedulerHost, key: str) -> set[str]:
    """The values of a key, one of each aggregate that has it."""
    return {aggregate.metadata[key] for aggregate in host.aggregates if key in aggregate.metadata}


def words(host: SchedulerHost) -> dict[str, set[str]]:
    """All keys, each with its words: a value is a list with commas."""
    found: dict[str, set[str]] = {}
    for aggregate in host.aggregates:
        for key, value in aggregate.metadata.items():
            found.setdefault(key, set()).update(word.strip() for word in value.split(","))
    return found


def least(host: SchedulerHost, key: str, default: int) -> int:
    """The least number that an aggregate names. PARITY: one that is no number voids the others."""
    try:
        return min((int(value) for value in values(host, key)), default=default)
    except ValueError:
        return default
