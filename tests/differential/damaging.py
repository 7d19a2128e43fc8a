# SPDX-License-Identifier: Apache-2.0
"""One thing wrong in an otherwise sensible request: its body, its version, its path."""

from typing import Any

from hypothesis import strategies as st

from tests.differential.calls import Draft, Raw

JUNK = st.sampled_from((None, -1, 0, 1, 1.5, 2147483648, "", "x", True, [], {}, ["x"], {"x": 1}))
STRANGE_VERSIONS = ("", "latest", "1.40", "1", "x", "2.0")
STRANGE_PATHS = ("/", "/nowhere", "/resource_providers/x/", "/resource_providers/%20")


def one_in(draw: st.DrawFn, number: int) -> bool:
    return draw(st.integers(1, number)) == number


@st.composite
def damaged(draw: st.DrawFn, sound: st.SearchStrategy[Draft]) -> Draft:
    """Nearly always the drawn request; sometimes one thing in it is wrong."""
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
