# SPDX-License-Identifier: Apache-2.0
"""Paths and queries that are wrong: their parts, their encoding, their number."""

from urllib.parse import quote, quote_from_bytes

from hypothesis import strategies as st

from tests.differential.generating import AGGREGATES, CONSUMERS, PROVIDERS
from tests.fuzz.bodies import SOUND, STRANGE_TEXTS, written
from tests.fuzz.requests import PARTS, minors, path_of, routes, version
from tests.fuzz.services import JSON, Wire

SEARCHES = {
    "/resource_providers": ("name", "uuid", "member_of", "resources", "in_tree", "required"),
    "/allocation_candidates": (
        "resources", "resources1", "required", "required1", "member_of", "member_of1", "in_tree",
        "in_tree1", "limit", "group_policy", "root_required", "same_subtree", "resources_A",
        "required_A", "resources-", "resources_" + "x" * 70,
    ),
    "/traits": ("name", "associated"),
    "/usages": ("project_id", "user_id", "consumer_type"),
    f"/resource_providers/{PROVIDERS[0]}/usages": ("x",),
}  # fmt: skip
VALUES = (
    "VCPU:1", "VCPU:0", "VCPU:-1", "VCPU:1.5", "VCPU:x", "VCPU", "VCPU:", ":1", ":", ",", "VCPU:1,",
    "VCPU:1,VCPU:2", "VCPU:1,MEMORY_MB:1", "NONSENSE:1", f"VCPU:{10**30}", f"VCPU:{2**63}",
    f"VCPU:{'9' * 5000}", "VCPU:1_0", "VCPU: 1", "VCPU:+1", "VCPU:٣", "vcpu:1", "VCPU:1:2",
    "CUSTOM_FAST", "!CUSTOM_FAST", "!!CUSTOM_FAST", "!", "!,!", "in:CUSTOM_FAST,CUSTOM_SLOW", "in:",
    "in:!CUSTOM_FAST", "!in:CUSTOM_FAST", "CUSTOM_FAST,!CUSTOM_FAST", "NO_SUCH_TRAIT", "!NO_SUCH",
    AGGREGATES[0], f"!{AGGREGATES[0]}", f"in:{AGGREGATES[0]},{AGGREGATES[1]}",
    f"!in:{AGGREGATES[0]}", f"{AGGREGATES[0]},{AGGREGATES[1]}", "in:x", "!in:", PROVIDERS[0],
    "1", "0", "-1", "2147483648", "99999999999999999999", "1.0", "none", "isolate", "None",
    "_A", "1,_A", "_A,_B", "true", "false", "1", "startswith:CUSTOM", "in:a,b", "startswith:",
    "in:", "unknown", "all", "INSTANCE", *STRANGE_TEXTS,
)  # fmt: skip
RAW = (
    "%", "%%", "%zz", "%ff", "name=%ff", "name=%00", "%00=1", "&&&", "=", "=x", "name", "name=",
    "a;b", "resources=VCPU%3A1", "resources=VCPU:1&%72esources=VCPU:2", "name=%ed%a0%80", "?",
    "resources=VCPU:1+", "name=a+b", "\xe4=1", "name=\xe4", "resources[]=VCPU:1",
    "x" * 70000, "&".join(["member_of=" + AGGREGATES[0]] * 64), "&".join(["limit=1"] * 3),
)  # fmt: skip
PIECES = (
    "", "%00", "%20", "%2F", "%2f..", "..", ".", "%ff", "%f0%9f%98%80", "%ed%a0%80", "x", "%25",
    "%7B" + PROVIDERS[0] + "%7D", PROVIDERS[0].upper(), PROVIDERS[0].replace("-", ""),
    PROVIDERS[0] + "%0A", PROVIDERS[0] + "/", PROVIDERS[1], CONSUMERS[1], "A" * 300, "CUSTOM_%C3",
    "-" * 36, "f" * 36, "urn:uuid:" + PROVIDERS[0], "VCPU", "vcpu", "CUSTOM_FAST",
    "CUSTOM_" + "A" * 300, "CUSTOM_A%0A", "a;b", "a:b", "%3Fx", "%0d%0aX:%20y",
)  # fmt: skip


@st.composite
def with_bad_paths(draw: st.DrawFn) -> Wire:
    route = draw(routes)
    path = route.url
    for name in PARTS:
        piece = st.one_of(st.sampled_from(PIECES), st.binary(max_size=8).map(quote_from_bytes))
        path = path.replace(name, draw(piece))
    path += draw(st.sampled_from(("", "", "", "/", "//", "/x", "%2F", ";x")))
    sound = SOUND.get(route.handler.__name__)
    body = None if sound is None else draw(written(sound))
    return Wire(route.method, path, headers=JSON | version(draw(minors)), body=body)


@st.composite
def with_bad_queries(draw: st.DrawFn) -> Wire:
    minor = draw(minors)
    if draw(st.integers(0, 9)) == 0:
        route = draw(routes)
        return Wire(route.method, path_of(route), draw(st.sampled_from(RAW)), JSON | version(minor))
    path = draw(st.sampled_from(list(SEARCHES)))
    value = st.one_of(st.sampled_from(VALUES), st.text(max_size=8))
    pair = st.tuples(st.sampled_from((*SEARCHES[path], "nonsense")), value)
    pairs = draw(st.lists(pair, max_size=4))
    query = "&".join(f"{key}={quote(text, errors='surrogatepass')}" for key, text in pairs)
    if path == "/allocation_candidates" and draw(st.booleans()):
        query = f"resources=VCPU:1&{query}"
    return Wire("GET", path, query, version(minor))
