# SPDX-License-Identifier: Apache-2.0
"""The syntax of the values in query strings: resources, required, member_of, in_tree."""

from collections.abc import Sequence

from oslo_utils.uuidutils import is_uuid_like

from trueup.model.requests import AnyOf
from trueup.placement.api.errors import bad_request
from trueup.placement.api.versions import V

Pairs = Sequence[tuple[str, str]]

_INVALID = "Invalid query string parameters: "
_AMOUNT_MAX = 2**63 - 1
"""More than any column of a database holds."""


def values_of(pairs: Pairs, key: str) -> list[str]:
    """All values of a parameter, in their order."""
    return [value for name, value in pairs if name == key]


def parse_resources(value: str) -> tuple[tuple[str, int], ...]:
    """Amounts by class: `VCPU:2,MEMORY_MB:1024`. Raises Refused."""
    expected = (
        "Badly formed resources parameter. Expected resources query string parameter in form: "
        "?resources=VCPU:2,MEMORY_MB:1024. Got: "
    )
    if not value.strip():
        raise bad_request(f"{expected}empty string.")
    amounts: dict[str, int] = {}
    for part in value.split(","):
        name, colon, given = part.partition(":")
        if not colon or ":" in given:
            raise bad_request(f"{expected}{part}.")
        amounts[name] = _amount(name, given)
    return tuple(amounts.items())


def parse_required(
    pairs: Pairs, version: V, suffix: str = ""
) -> tuple[tuple[AnyOf, ...], frozenset[str]]:
    """The traits required, each by alternatives, and those forbidden. Raises Refused."""
    values = values_of(pairs, f"required{suffix}")
    if version < V.ANY_TRAITS:
        # PARITY: before, only the last of several counts.
        values = values[-1:]
    required: list[AnyOf] = []
    forbidden: set[str] = set()
    for value in values:
        more_required, more_forbidden = parse_traits(
            value,
            may_forbid=version >= V.FORBIDDEN_TRAITS,
            may_choose=version >= V.ANY_TRAITS,
        )
        required += more_required
        forbidden |= more_forbidden
    return tuple(required), frozenset(forbidden)


def parse_traits(
    value: str, *, may_forbid: bool, may_choose: bool = False
) -> tuple[list[AnyOf], set[str]]:
    """One value: `A,!B`, or `in:A,B` for alternatives. Raises Refused."""
    if value.startswith("in:"):
        return [_alternatives(value, may_choose=may_choose)], set()
    names = [part.strip() for part in value.split(",")]
    # PARITY: any number of exclamation marks forbids a trait.
    forbidden = {name.lstrip("!") for name in names if name.startswith("!")}
    if not all(names) or not all(forbidden):
        form = "HW_CPU_X86_VMX,!CUSTOM_MAGIC" if may_forbid else "HW_CPU_X86_VMX,CUSTOM_MAGIC"
        raise bad_request(
            f"{_INVALID}Expected 'required' parameter value of the form: {form}. "
            f"Got an empty trait in: {value}"
        )
    if forbidden and not may_forbid:
        raise bad_request(
            f"{_INVALID}Expected 'required' parameter value of the form: "
            f"HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: {value}"
        )
    return [frozenset({name}) for name in names if not name.startswith("!")], forbidden


def parse_member_of(
    pairs: Pairs, version: V, suffix: str = ""
) -> tuple[tuple[AnyOf, ...], frozenset[str]]:
    """The aggregates required, each by alternatives, and those forbidden. Raises Refused."""
    values = values_of(pairs, f"member_of{suffix}")
    if len(values) > 1 and version < V.REPEATED_MEMBER_OF:
        raise bad_request(f"Multiple member_of{suffix} parameters are not supported")
    required: list[AnyOf] = []
    forbidden: set[str] = set()
    for value in values:
        uuids, forbids = _aggregates(value)
        if not forbids:
            required.append(uuids)
            continue
        if version < V.FORBIDDEN_AGGREGATES:
            raise bad_request(
                f"Forbidden member_of{suffix} parameters are not supported "
                "in the specified microversion"
            )
        forbidden |= uuids
    return tuple(required), frozenset(forbidden)


def parse_in_tree(value: str) -> str:
    """The UUID of a provider in the tree. Raises Refused."""
    uuid = value.strip()
    if not is_uuid_like(uuid):
        raise bad_request(
            f"{_INVALID}Expected 'in_tree' parameter to be a format of uuid. Got: {value}"
        )
    return uuid


def _amount(name: str, given: str) -> int:
    try:
        amount = int(given)
    except ValueError as error:
        raise bad_request(
            f"Requested resource {name} expected positive integer amount. Got: {given}."
        ) from error
    if amount < 1:
        raise bad_request(f"Requested resource {name} requires amount >= 1. Got: {amount}.")
    if amount > _AMOUNT_MAX:
        raise bad_request(f"Requested resource {name} requires amount <= {_AMOUNT_MAX}.")
    return amount


def _alternatives(value: str, *, may_choose: bool) -> AnyOf:
    form = "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC'"
    if not may_choose:
        raise bad_request(f"{_INVALID}{form} only supported since microversion 1.39. Got: {value}")
    names = frozenset(part.strip() for part in value[len("in:") :].split(","))
    if not all(names):
        raise bad_request(
            f"{_INVALID}Expected 'required' parameter value of the form: "
            f"in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: {value}"
        )
    if any(name.startswith("!") for name in names):
        raise bad_request(f"{_INVALID}{form} does not support forbidden traits. Got: {value}")
    return names


def _aggregates(value: str) -> tuple[AnyOf, bool]:
    """The UUIDs in one value, and whether it forbids them."""
    forbids, listed = value.startswith("!"), value.removeprefix("!")
    if "," in listed and not listed.startswith("in:"):
        raise bad_request(
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword "
            f"using the valid microversion. Got: {value}"
        )
    if listed.startswith("in:"):
        uuids = frozenset(listed[len("in:") :].split(","))
    else:
        uuids = frozenset({listed})
    for uuid in uuids:
        if not is_uuid_like(uuid):
            raise bad_request(
                f"{_INVALID}Expected 'member_of' parameter to contain valid UUID(s). Got: {uuid}"
            )
    return uuids, forbids
