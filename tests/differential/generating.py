# SPDX-License-Identifier: Apache-2.0
"""Requests to Placement, drawn by hypothesis: mostly sensible, sometimes damaged.

A small world of names makes requests meet: four providers, three consumers, two aggregates.
"""

from typing import Any
from urllib.parse import urlencode

from hypothesis import strategies as st

from tests.differential.calls import Absent, ConsumerGeneration, Draft, ProviderGeneration, Raw

NEWEST = 39
PROVIDERS = tuple(f"{n}0000000-aaaa-4aaa-8aaa-{n:012}" for n in range(1, 5))
CONSUMERS = tuple(f"{n}0000000-cccc-4ccc-8ccc-{n:012}" for n in range(1, 4))
AGGREGATES = tuple(f"{n}0000000-eeee-4eee-8eee-{n:012}" for n in range(1, 3))
CLASSES = ("VCPU", "MEMORY_MB", "CUSTOM_GOLD")
TRAITS = ("HW_CPU_X86_AVX2", "MISC_SHARES_VIA_AGGREGATE", "CUSTOM_FAST", "CUSTOM_SLOW")
CONSUMER_TYPES = ("INSTANCE", "MIGRATION", "unknown")
NO_BODY = Absent()
OWNERS = ("11111111111111111111111111111111", "22222222222222222222222222222222")

providers = st.sampled_from(PROVIDERS)
consumers = st.sampled_from(CONSUMERS)
classes = st.sampled_from(CLASSES)
traits = st.sampled_from(TRAITS)
owners = st.sampled_from(OWNERS)
minor_versions = st.one_of(st.just(NEWEST), st.integers(0, NEWEST))
# Zero nearly always: a wrong generation is refused before anything interesting happens.
offsets = st.sampled_from((0, 0, 0, 0, 0, 0, 0, 0, 1, -1))
amounts = st.sampled_from((1, 2, 3, 5, 8, 16, 1000))


def one_in(draw: st.DrawFn, number: int) -> bool:
    return draw(st.integers(1, number)) == number


def draft(method: str, path: str, minor: int, body: Any = NO_BODY, **query: str | None) -> Draft:
    text = urlencode({key: value for key, value in query.items() if value is not None})
    return Draft(method, f"{path}?{text}" if text else path, f"1.{minor}", body)


@st.composite
def provider_writes(draw: st.DrawFn) -> Draft:
    minor, uuid = draw(minor_versions), draw(providers)
    name = f"host{PROVIDERS.index(draw(providers) if one_in(draw, 6) else uuid) + 1}"
    body: dict[str, Any] = {"name": name}
    if minor >= 14 and draw(st.booleans()):
        body["parent_provider_uuid"] = draw(st.one_of(providers, st.none()))
    if draw(st.booleans()):
        return draft("POST", "/resource_providers", minor, {"uuid": uuid, **body})
    return draft("PUT", f"/resource_providers/{uuid}", minor, body)


@st.composite
def provider_reads(draw: st.DrawFn) -> Draft:
    minor, uuid = draw(minor_versions), draw(providers)
    kind = draw(
        st.sampled_from(
            (
                "",
                "/inventories",
                "/usages",
                "/traits",
                "/aggregates",
                "/allocations",
                "/inventories/VCPU",
            )
        )
    )
    return draft(
        draw(st.sampled_from(("GET", "GET", "DELETE"))), f"/resource_providers/{uuid}{kind}", minor
    )


@st.composite
def provider_searches(draw: st.DrawFn) -> Draft:
    query = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(("host1", "host9", "")),
                "uuid": st.sampled_from((PROVIDERS[0], "x")),
                "in_tree": st.sampled_from((*PROVIDERS[:2], "x")),
                "member_of": memberships(),
                "resources": resource_texts(),
                "required": required_texts(),
            },
        )
    )
    return draft("GET", "/resource_providers", draw(minor_versions), **query)


@st.composite
def memberships(draw: st.DrawFn) -> str:
    sign = draw(st.sampled_from(("", "", "!", "in:", "!in:", "in:!")))
    return sign + ",".join(draw(st.lists(st.sampled_from((*AGGREGATES, "x")), max_size=2)))


@st.composite
def resource_texts(draw: st.DrawFn) -> str:
    wanted = draw(st.dictionaries(classes, st.sampled_from((1, 2, 5, 8)), max_size=2))
    text = ",".join(f"{name}:{amount}" for name, amount in wanted.items())
    return draw(st.sampled_from((text, text, text, f"{text},", "VCPU", "VCPU:0", "NONE:1")))


@st.composite
def required_texts(draw: st.DrawFn) -> str:
    names = draw(st.lists(traits, max_size=2))
    signs = [draw(st.sampled_from(("", "", "!"))) for _ in names]
    text = ",".join(sign + name for sign, name in zip(signs, names, strict=True))
    return draw(st.sampled_from((text, text, text, f"in:{text}", f"{text},", "CUSTOM_NONE")))


@st.composite
def inventory_amounts(draw: st.DrawFn) -> dict[str, Any]:
    optional = {
        "reserved": st.sampled_from((0, 1, 8, 9)),
        "min_unit": st.sampled_from((1, 2)),
        "max_unit": st.sampled_from((1, 8, 2147483647)),
        "step_size": st.sampled_from((1, 2, 3)),
        "allocation_ratio": st.sampled_from((0.5, 1.0, 1.1, 16.0)),
    }
    return draw(st.fixed_dictionaries({"total": st.sampled_from((8, 8, 4, 1))}, optional=optional))


@st.composite
def inventory_writes(draw: st.DrawFn) -> Draft:
    minor, uuid, name = draw(minor_versions), draw(providers), draw(classes)
    path = f"/resource_providers/{uuid}/inventories"
    stated = {"resource_provider_generation": ProviderGeneration(uuid, draw(offsets))}
    kind = draw(st.sampled_from(("all", "all", "one", "add", "delete")))
    if kind == "all":
        held = draw(st.dictionaries(classes, inventory_amounts(), max_size=3))
        return draft("PUT", path, minor, {**stated, "inventories": held})
    if kind == "one":
        return draft("PUT", f"{path}/{name}", minor, {**stated, **draw(inventory_amounts())})
    if kind == "add":
        body = {**stated, "resource_class": name, **draw(inventory_amounts())}
        return draft("POST", path, minor, body)
    return draft("DELETE", draw(st.sampled_from((path, f"{path}/{name}"))), minor)


@st.composite
def allocation_bodies(draw: st.DrawFn, minor: int, consumer: str) -> dict[str, Any]:
    """The body for one consumer, in the form of the microversion."""
    held = draw(
        st.dictionaries(
            providers, st.dictionaries(classes, amounts, min_size=1, max_size=2), max_size=2
        )
    )
    body: dict[str, Any] = {"allocations": {p: {"resources": r} for p, r in held.items()}}
    if minor < 12:
        body["allocations"] = [
            {"resource_provider": {"uuid": provider}, "resources": resources}
            for provider, resources in held.items()
        ]
    if minor >= 8:
        body |= {"project_id": draw(owners), "user_id": draw(owners)}
    if minor >= 28:
        body["consumer_generation"] = ConsumerGeneration(consumer, draw(offsets))
    if minor >= 34 and one_in(draw, 4):
        body["mappings"] = {"": list(held)} if held else {}
    if minor >= 38:
        body["consumer_type"] = draw(st.sampled_from(CONSUMER_TYPES))
    return body


@st.composite
def allocation_writes(draw: st.DrawFn) -> Draft:
    minor, consumer = draw(minor_versions), draw(consumers)
    kind = draw(st.sampled_from(("put", "put", "put", "post", "delete")))
    if kind == "put":
        body = draw(allocation_bodies(minor, consumer))
        return draft("PUT", f"/allocations/{consumer}", minor, body)
    if kind == "post":
        minor = draw(st.sampled_from((NEWEST, 13, 28, 34, 12)))
        chosen = draw(st.lists(consumers, min_size=1, max_size=2, unique=True))
        body = {one: draw(allocation_bodies(minor, one)) for one in chosen}
        return draft("POST", "/allocations", minor, body)
    return draft("DELETE", f"/allocations/{consumer}", minor)


@st.composite
def usage_reads(draw: st.DrawFn) -> Draft:
    minor = draw(minor_versions)
    if draw(st.booleans()):
        return draft("GET", f"/allocations/{draw(consumers)}", minor)
    kind = draw(st.sampled_from((None, None, "all", "unknown", "INSTANCE", "", "x y")))
    user = draw(st.one_of(st.none(), owners))
    project = draw(st.one_of(owners, st.none()))
    return draft("GET", "/usages", minor, project_id=project, user_id=user, consumer_type=kind)


@st.composite
def trait_calls(draw: st.DrawFn) -> Draft:
    minor, uuid = draw(minor_versions), draw(providers)
    path = f"/resource_providers/{uuid}/traits"
    kind = draw(st.sampled_from(("set", "set", "clear", "one", "list")))
    if kind == "set":
        body = {
            "traits": draw(st.lists(traits, max_size=3, unique=True)),
            "resource_provider_generation": ProviderGeneration(uuid, draw(offsets)),
        }
        return draft("PUT", path, minor, body)
    if kind == "clear":
        return draft("DELETE", path, minor)
    if kind == "one":
        name = draw(st.sampled_from((*TRAITS, "CUSTOM_NONE", "custom_small", "NOSUCH")))
        return draft(draw(st.sampled_from(("PUT", "GET", "DELETE"))), f"/traits/{name}", minor)
    names = (None, "startswith:CUSTOM", "in:CUSTOM_FAST,NONE", "in:", "else:X", "")
    flags = (None, "true", "false", "x")
    return draft(
        "GET",
        "/traits",
        minor,
        name=draw(st.sampled_from(names)),
        associated=draw(st.sampled_from(flags)),
    )


@st.composite
def aggregate_writes(draw: st.DrawFn) -> Draft:
    minor, uuid = draw(minor_versions), draw(providers)
    members = draw(st.lists(st.sampled_from(AGGREGATES), max_size=2, unique=True))
    body: Any = members
    if minor >= 19:
        generation = ProviderGeneration(uuid, draw(offsets))
        body = {"aggregates": members, "resource_provider_generation": generation}
    return draft("PUT", f"/resource_providers/{uuid}/aggregates", minor, body)


@st.composite
def class_calls(draw: st.DrawFn) -> Draft:
    minor = draw(minor_versions)
    name = draw(st.sampled_from(("CUSTOM_GOLD", "CUSTOM_TIN", "VCPU", "custom_small", "NONE")))
    kind = draw(st.sampled_from(("list", "add", "GET", "PUT", "DELETE")))
    if kind == "list":
        return draft("GET", "/resource_classes", minor)
    if kind == "add":
        return draft("POST", "/resource_classes", minor, {"name": name})
    body = {"name": "CUSTOM_TIN"} if kind == "PUT" and minor < 7 else NO_BODY
    return draft(kind, f"/resource_classes/{name}", minor, body)


@st.composite
def reshapes(draw: st.DrawFn) -> Draft:
    minor = draw(st.sampled_from((NEWEST, NEWEST, 30, 34, 29)))
    shaped = draw(st.lists(providers, min_size=1, max_size=2, unique=True))
    moved = draw(st.lists(consumers, max_size=2, unique=True))
    inventories = {
        provider: {
            "resource_provider_generation": ProviderGeneration(provider, draw(offsets)),
            "inventories": draw(st.dictionaries(classes, inventory_amounts(), max_size=2)),
        }
        for provider in shaped
    }
    allocations = {consumer: draw(allocation_bodies(minor, consumer)) for consumer in moved}
    body = {"inventories": inventories, "allocations": allocations}
    return draft("POST", "/reshaper", minor, body)


@st.composite
def candidate_reads(draw: st.DrawFn) -> Draft:
    """Without a limit: which candidates one leaves out is up to the service."""
    query: dict[str, str] = {}
    for suffix in draw(st.sampled_from((("",), ("",), ("", "1"), ("1", "2"), ("_A", "_B")))):
        query[f"resources{suffix}"] = draw(resource_texts())
        for name, texts in (
            ("required", required_texts()),
            ("member_of", memberships()),
            ("in_tree", st.sampled_from(PROVIDERS)),
        ):
            if one_in(draw, 4):
                query[name + suffix] = draw(texts)
    if len(query) > 1 and draw(st.booleans()):
        query["group_policy"] = draw(st.sampled_from(("none", "isolate", "x")))
    if one_in(draw, 6):
        query["root_required"] = draw(required_texts())
    if one_in(draw, 6):
        query["same_subtree"] = draw(st.sampled_from(("_A,_B", "_A", "1,2")))
    return draft("GET", "/allocation_candidates", draw(minor_versions), **query)


JUNK = st.sampled_from((None, -1, 0, 1, 1.5, 2147483648, "", "x", True, [], {}, ["x"], {"x": 1}))
STRANGE_VERSIONS = ("", "latest", "1.40", "1", "x", "2.0")
STRANGE_PATHS = ("/", "/nowhere", "/resource_providers/x/", "/resource_providers/%20")


@st.composite
def damaged(draw: st.DrawFn, sound: st.SearchStrategy[Draft]) -> Draft:
    """Nearly always what was drawn; otherwise one thing about it is wrong."""
    chosen = draw(sound)
    if not one_in(draw, 6):
        return chosen
    method, path, version, body = chosen.method, chosen.path, chosen.version, chosen.body
    kind = draw(st.sampled_from(("body", "body", "body", "version", "query", "path", "raw")))
    if kind == "body":
        body = draw(damaged_bodies(body))
    elif kind == "version":
        version = draw(st.sampled_from(STRANGE_VERSIONS))
    elif kind == "query":
        path += ("&" if "?" in path else "?") + "nonsense=1"
    elif kind == "path":
        path = draw(st.sampled_from(STRANGE_PATHS))
    else:
        body = Raw(draw(st.sampled_from(("", "{", "[]", "null", '"x"', "{}"))))
    return Draft(method, path, version, body)


@st.composite
def damaged_bodies(draw: st.DrawFn, body: Any) -> Any:
    """One key gone, one value replaced, or one key too many, at any depth."""
    if not isinstance(body, (dict, list)) or not body or one_in(draw, 8):
        return draw(JUNK)
    changed = dict(body) if isinstance(body, dict) else dict(enumerate(body))
    key = draw(st.sampled_from(sorted(changed, key=str)))
    action = draw(st.sampled_from(("deeper", "deeper", "replace", "remove", "add")))
    if action == "deeper":
        changed[key] = draw(damaged_bodies(changed[key]))
    elif action == "replace":
        changed[key] = draw(JUNK)
    elif action == "remove":
        del changed[key]
    elif isinstance(body, dict):
        changed["unknown"] = draw(JUNK)
    else:
        changed[len(body)] = draw(JUNK)
    return changed if isinstance(body, dict) else list(changed.values())


def calls() -> st.SearchStrategy[Draft]:
    """Any request, the ones that build up a ledger more often."""
    return damaged(
        st.one_of(
            provider_writes(),
            inventory_writes(),
            inventory_writes(),
            allocation_writes(),
            allocation_writes(),
            aggregate_writes(),
            trait_calls(),
            provider_reads(),
            provider_searches(),
            usage_reads(),
            class_calls(),
            reshapes(),
            candidate_reads(),
        )
    )


def small_ledger() -> list[Draft]:
    """A host with a child, a sharing pool and a second host, so that requests find something."""
    host, child, pool, other = PROVIDERS
    gold = [draft("PUT", "/resource_classes/CUSTOM_GOLD", NEWEST)]
    made = [
        draft(
            "POST", "/resource_providers", NEWEST, {"uuid": uuid, "name": f"host{number}", **more}
        )
        for number, uuid, more in (
            (1, host, {}),
            (2, child, {"parent_provider_uuid": host}),
            (3, pool, {}),
            (4, other, {}),
        )
    ]
    stocked = [
        draft(
            "PUT",
            f"/resource_providers/{uuid}/inventories",
            NEWEST,
            {"resource_provider_generation": 0, "inventories": {c: {"total": 8} for c in held}},
        )
        for uuid, held in (
            (host, CLASSES[:2]),
            (child, CLASSES[2:]),
            (pool, CLASSES[2:]),
            (other, CLASSES[:2]),
        )
    ]
    return gold + made + stocked
