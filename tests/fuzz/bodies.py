# SPDX-License-Identifier: Apache-2.0
"""Bodies for each route: a sound one, and what can be wrong with it from the wire upwards."""

import json
from typing import Any

from hypothesis import strategies as st

from tests.differential.generating import AGGREGATES, CONSUMERS, OWNERS, PROVIDERS

# Of every provider in the ledger: what is guarded by it gets past the guard.
GENERATION = 3
INVENTORY = {"total": 8, "reserved": 0, "allocation_ratio": 1.5}
CLAIM = {
    "allocations": {PROVIDERS[0]: {"resources": {"VCPU": 1}}},
    "project_id": OWNERS[0],
    "user_id": OWNERS[1],
    "consumer_generation": None,
    "consumer_type": "INSTANCE",
}
INVENTORIES = {"resource_provider_generation": GENERATION, "inventories": {"VCPU": INVENTORY}}
# By the name of the handler.
SOUND: dict[str, Any] = {
    "post_resource_class": {"name": "CUSTOM_NEW"},
    "rename_resource_class": {"name": "CUSTOM_NEWER"},
    "post_provider": {"name": "new", "parent_provider_uuid": PROVIDERS[0]},
    "put_provider": {"name": "renamed"},
    "post_inventory": {"resource_class": "DISK_GB", **INVENTORY},
    "put_inventories": INVENTORIES,
    "put_inventory": {"resource_provider_generation": GENERATION, **INVENTORY},
    "put_aggregates": {"resource_provider_generation": GENERATION, "aggregates": [AGGREGATES[0]]},
    "post_allocations": {CONSUMERS[0]: CLAIM},
    "put_allocations": CLAIM,
    "put_provider_traits": {"resource_provider_generation": GENERATION, "traits": ["CUSTOM_FAST"]},
    "post_reshape": {
        "inventories": {PROVIDERS[0]: INVENTORIES},
        "allocations": {CONSUMERS[0]: CLAIM},
    },
}
DEPTHS = (50, 200, 450, 700, 850, 950, 2000)
STRANGE_TEXTS = (
    "", " ", "x", "\x00", "VCPU", "CUSTOM_", "custom_x", "CUSTOM_\U0001f600", "\U0001f600",
    "A" * 256, "CUSTOM_" + "A" * 249, "B" * 20000, "ä", "\ud800", "\ufeff", "a\nb", "<b>%s{0}</b>",
    "' OR 1=1 --", PROVIDERS[0].upper(), PROVIDERS[0].replace("-", ""), f"{{{PROVIDERS[0]}}}",
    f"urn:uuid:{PROVIDERS[0]}", PROVIDERS[0] + "\n", "-" * 36, "f" * 36,
)  # fmt: skip
STRANGE_NUMBERS = (
    0, -1, 1, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**400, -(2**63) - 1,
    0.0, -0.0, 0.5, 1.0, 1e308, 1e-320, float("inf"), float("-inf"), float("nan"), True,
)  # fmt: skip
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(STRANGE_NUMBERS),
    st.sampled_from(STRANGE_TEXTS),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
)
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)
NOT_JSON = (
    b"", b" ", b"{", b"}", b"{}", b"[]", b"null", b"true", b"0", b'"x"', b"{]", b"nul", b"[1,]",
    b"{'a': 1}", b'{"a": 1,}', b'{"a" 1}', b"\x00", b"\xff\xfe", b"\xef\xbb\xbf{}", b"NaN",
    *(b"[" * deep + b"]" * deep for deep in DEPTHS), b"[" * 100000,
    *(b'{"a":' * deep + b"1" + b"}" * deep for deep in DEPTHS),
    b'{"name": "\xe4"}', b'{"name": "\\ud800"}', b'{"name": "\\u0000"}', b'{"name": "a" "b"}',
    b'{"name": "a", "name": "b"}', b'{"name": 1' + b"0" * 5000 + b"}", b"{} {}", b"{}\n{}",
    b'{"name": Infinity}', b'{"name": 1e999}', b"<x/>", b"name=x", b'{"name": "a\tb"}',
)  # fmt: skip
ENCODINGS = ("utf-8-sig", "latin-1", "utf-16", "utf-32", "cp1252")


@st.composite
def damaged(draw: st.DrawFn, value: Any) -> Any:
    """The value with one part of it replaced, removed or added, at any depth."""
    if not isinstance(value, (dict, list)) or not value or draw(st.integers(0, 4)) == 0:
        return draw(junk)
    parts = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    key = draw(st.sampled_from(list(parts)))
    action = draw(st.sampled_from(("deeper", "deeper", "deeper", "remove", "add", "rename")))
    if action == "deeper":
        parts[key] = draw(damaged(parts[key]))
    elif action == "remove":
        del parts[key]
    elif action == "add":
        parts[draw(st.sampled_from(STRANGE_TEXTS))] = draw(junk)
    else:
        parts[draw(st.sampled_from(STRANGE_TEXTS))] = parts.pop(key)
    return parts if isinstance(value, dict) else list(parts.values())


@st.composite
def written(draw: st.DrawFn, value: Any) -> bytes:
    """JSON of it, not always in the encoding or with the keys that it should have."""
    text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    if draw(st.integers(0, 9)) == 0:
        return text.encode(draw(st.sampled_from(ENCODINGS)), "replace")
    if draw(st.integers(0, 9)) == 0 and text.startswith("{") and len(text) > 2:
        text = f"{text[:-1]}, {text[1:]}"  # each key twice
    return text.encode("utf-8", "surrogatepass")


@st.composite
def bodies(draw: st.DrawFn, handler: str) -> bytes | None:
    """A body for this handler that is nearly always wrong."""
    kind = draw(st.sampled_from(("damaged",) * 6 + ("bytes", "junk", "none")))
    if kind == "damaged":
        return draw(written(draw(damaged(SOUND.get(handler, {"x": 1})))))
    if kind == "bytes":
        return draw(st.one_of(st.sampled_from(NOT_JSON), st.binary(max_size=20)))
    return draw(written(draw(junk))) if kind == "junk" else None
