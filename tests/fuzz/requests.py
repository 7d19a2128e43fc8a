# SPDX-License-Identifier: Apache-2.0
"""Requests on each route of the table, each with one side of it wrong."""

from hypothesis import strategies as st

from tests.differential.generating import CONSUMERS, PROVIDERS
from tests.fuzz.bodies import SOUND, STRANGE_TEXTS, bodies, written
from tests.fuzz.services import JSON, NEWEST, Wire
from trueup.placement.api.routes import ROUTES, Route

routes = st.sampled_from(ROUTES)
routes_with_bodies = st.sampled_from([one for one in ROUTES if one.handler.__name__ in SOUND])
minors = st.one_of(st.just(39), st.just(39), st.integers(0, 39))
PARTS = {
    "{uuid}": PROVIDERS[0],
    "{consumer_uuid}": CONSUMERS[0],
    "{resource_class}": "VCPU",
    "{name}": "CUSTOM_GOLD",
}
METHODS = ("HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "GET", "PUT", "POST", "DELETE", "get",
           "BREW", "PROPFIND")  # fmt: skip
VERSIONS = (
    "", "latest", "placement latest", "placement 1.999", "placement 1", "placement", "1.10",
    "placement 1.40", "placement 2.0", "placement 0.9", "placement -1.1", "placement 1.10.1",
    "placement x", "placement 1.x", "placement 1.٣", "compute 2.1", "compute 2.1, placement 1.10",
    "placement 1.10, placement 1.20", "placement 1.10,placement latest", "placement  1.10",
    "PLACEMENT 1.10", "placement 1.10 ", ",", ", ,", "placement 1.10;x", "placement 1e1",
    "placement 999999999999999999999.1", "placement 1.010", "placement 1. 10", "\x00", "ä",
)  # fmt: skip
CONTENT_TYPES = (
    "", "text/plain", "application/json; charset=utf-8", "application/json;charset=latin-1",
    "application/json; charset=nonsense", "APPLICATION/JSON", "application/json,text/plain",
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "*/*", "json", "/",
    "application/json ; ;", "application/jsonx", "application/vnd.api+json", "ä/ö", ";", " ",
)  # fmt: skip
ACCEPTS = (
    "", "*/*", "*", "text/html", "text/plain", "application/json;q=0", "application/*", "x", ",",
    "text/html, application/json;q=0.5", "application/json;q=x", "text/*;q=0.3, */*;q=0",
    "application/json, ", "ä", "*/json", "application/json;q=9", ";q=1", "application/json; x=1",
)  # fmt: skip
LENGTHS = ("", "0", "-1", "x", "1", "1.5", "1e3", " 5 ", "+5", "99999999999999999999", "0x10", "٣")


def path_of(route: Route) -> str:
    """The URL of the route, with what is in the ledger."""
    path = route.url
    for name, part in PARTS.items():
        path = path.replace(name, part)
    return path


def version(minor: int) -> dict[str, str]:
    return {"openstack-api-version": f"placement 1.{minor}"}


@st.composite
def with_bad_bodies(draw: st.DrawFn) -> Wire:
    route = draw(routes_with_bodies)
    body = draw(bodies(route.handler.__name__))
    headers = JSON | version(draw(minors))
    return Wire(route.method, path_of(route), headers=headers, body=body)


# Of each header the values that are wrong, or nearly.
STRANGE_HEADERS = {
    "openstack-api-version": VERSIONS,
    "content-type": CONTENT_TYPES,
    "accept": ACCEPTS,
    "x-auth-token": STRANGE_TEXTS,
}


@st.composite
def with_bad_headers(draw: st.DrawFn) -> Wire:
    route = draw(routes)
    sound = SOUND.get(route.handler.__name__)
    body = None if sound is None else draw(written(sound))
    headers, length = JSON | NEWEST, None
    kind = draw(st.sampled_from((*STRANGE_HEADERS, "length", "chunked", "untyped")))
    if kind in STRANGE_HEADERS:
        headers[kind] = draw(st.sampled_from(STRANGE_HEADERS[kind]))
    elif kind == "length":
        length = draw(st.sampled_from(LENGTHS))
    elif kind == "chunked":
        headers["transfer-encoding"], length = "chunked", ""
    else:
        del headers["content-type"]
    return Wire(route.method, path_of(route), "", headers, body, length)


@st.composite
def with_bad_methods(draw: st.DrawFn) -> Wire:
    route, method = draw(routes), draw(st.sampled_from(METHODS))
    body = draw(st.one_of(st.none(), written(SOUND.get(route.handler.__name__, {}))))
    return Wire(method, path_of(route), headers=JSON | version(draw(minors)), body=body)
