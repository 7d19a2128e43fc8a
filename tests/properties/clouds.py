# SPDX-License-Identifier: Apache-2.0
"""Generated clouds in many states, for properties that must hold in all of them."""

from datetime import timedelta

from hypothesis import strategies as st

from tests.scenarios.drafting import NOW, Draft, flavor, uuid_of

HOSTS = {"h1": "cell1", "h2": "cell1", "h3": "cell2"}
SERVERS = ("web", "db", "app")
PLAIN = {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 6}
STATES = (
    "active",
    "active",
    "active",
    "stopped",
    "resized",
    "building",
    "soft-delete",
    "error",
    "shelved_offloaded",
)
STATUSES = ("running", "finished", "done", "completed", "error", "pre-migrating", "confirmed")

# What a consumer holds: on which providers, all of them plain amounts.
HOLDINGS = st.sets(st.sampled_from([*HOSTS, "nic", "pool", "stray"]), max_size=4)


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """A cloud of three hosts in two cells, with up to three servers and an unknown consumer."""
    draft = Draft()
    for cell in ("cell1", "cell2"):
        draft.cell(cell, silent="it is down" if draw(st.integers(0, 9)) == 0 else "")
    for host, cell in HOSTS.items():
        if draw(st.integers(0, 9)) > 0:
            draft.provider(host, {"VCPU": 8, "MEMORY_MB": 8192, "DISK_GB": 100})
        draft.host(host, cell, up=draw(st.booleans()))
    draft.provider("nic", {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}, parent="h1")
    draft.provider("pool", {"DISK_GB": 1000}, sharing=True)
    draft.provider("stray", {"VCPU": 8, "MEMORY_MB": 8192, "DISK_GB": 100})
    held = {name: draw(HOLDINGS) for name in SERVERS}
    if draw(st.booleans()):
        held |= {"web": {"h1", "h2", "pool"}}
        draft.server("web", "cell1", "h2", flavor=flavor(PLAIN))
        draft.move("web", "evacuation", draw(st.sampled_from(["done", "completed"])), "h1")
    else:
        _server(draw, draft, "web")
    for name in SERVERS[1:]:
        _server(draw, draft, name)
    for name, providers in {**held, "stranger": {"h1", "pool"}}.items():
        for provider in sorted(providers):
            if uuid_of(provider) in draft.providers:
                draft.holds(name, provider, _amounts(provider))
    return draft


def _amounts(provider: str) -> dict[str, int]:
    kinds = {"nic": {"NET_BW_EGR_KILOBIT_PER_SEC": 10}, "pool": {"DISK_GB": 6}}
    return dict(kinds.get(provider, PLAIN))


def _server(draw: st.DrawFn, draft: Draft, name: str) -> None:
    host = draw(st.sampled_from(list(HOSTS)))
    details: dict[str, object] = {
        "vm_state": draw(st.sampled_from(STATES)),
        "flavor": flavor(PLAIN),
    }
    if details["vm_state"] == "shelved_offloaded":
        draft.server(name, HOSTS[host], None, **details)
        return
    if draw(st.integers(0, 3)) == 0:
        age = draw(st.sampled_from([5, 3600]))
        details |= {"deleted": True, "deleted_at": NOW - timedelta(seconds=age)}
    if draw(st.integers(0, 5)) == 0:
        details["task_state"] = "migrating"
    if draw(st.integers(0, 9)) == 0:
        details["hidden"] = True
    draft.server(name, HOSTS[host], host, **details)
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["evacuation", "live-migration", "resize"]))
        source = draw(st.sampled_from(list(HOSTS)))
        draft.move(name, kind, draw(st.sampled_from(STATUSES)), source)
        if draw(st.booleans()) and uuid_of(source) in draft.providers:
            draft.holds(f"{kind}-of-{name}", source, PLAIN)
    if draw(st.booleans()):
        draft.mapping(name, draw(st.sampled_from(["cell1", "cell1", "cell1", "cell2"])))
    if draw(st.integers(0, 9)) == 0:
        draft.builds[uuid_of(name)] = None
