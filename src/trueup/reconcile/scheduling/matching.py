# SPDX-License-Identifier: Apache-2.0
"""What an extra spec requires of a value, such as `>= 4` or `<in> sse4`. Pure.

PARITY: as nova.scheduler.filters.extra_specs_ops and compute_capabilities_filter.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from trueup.reconcile.facts import SchedulerHost

_Compare = Callable[[Any, Any], bool]


def _of_numbers(compare: _Compare) -> _Compare:
    return lambda value, word: compare(float(value), float(word))


_OPERATORS: Mapping[str, _Compare] = {
    "=": _of_numbers(operator.ge),
    "==": _of_numbers(operator.eq),
    "!=": _of_numbers(operator.ne),
    ">=": _of_numbers(operator.ge),
    "<=": _of_numbers(operator.le),
    "<in>": operator.contains,
    "s==": operator.eq,
    "s!=": operator.ne,
    "s<": operator.lt,
    "s<=": operator.le,
    "s>": operator.gt,
    "s>=": operator.ge,
}


def matches(value: str, wanted: str) -> bool:
    """Whether a value meets an extra spec. Raises ValueError where Nova fails as well."""
    first, *others = wanted.split() or [""]
    if first == "<or>":
        # The words at odd places are `<or>` again.
        return value in others[::2]
    if first == "<all-in>":
        return bool(others) and all(word in value for word in others)
    if first not in _OPERATORS:
        return value == wanted
    return bool(others) and _OPERATORS[first](value, others[0])


def capability(host: SchedulerHost, path: Sequence[str]) -> Any:
    """The capability of a host at a path of names; or None."""
    first, *below = path
    found = host.attributes.get(first)
    if found is None:
        found = host.stats if first == "stats" else host.stats.get(first)
    for name in below:
        if isinstance(found, str):
            try:
                found = msgspec.json.decode(found)
            except (ValueError, RecursionError):
                return None
        found = found.get(name) if isinstance(found, dict) else None
    return found


def has_capability(host: SchedulerHost, name: str) -> bool:
    """Whether a host has a capability with a name without a namespace."""
    return name in host.attributes or name in host.stats or name == "stats"
