# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.model.errors import BadProvider, StaleProvider
from trueup.model.generations import UNCHECKED
from trueup.model.providers import Provider, refuse_bad_parent, refuse_stale_provider

ROOT = Provider(1, "root", "root", 3, "root")
CHILD = Provider(2, "child", "child", 0, "root", "root")
OTHER = Provider(3, "other", "other", 0, "other")


def test_a_generation_must_be_the_present_one() -> None:
    refuse_stale_provider(ROOT, 3)
    refuse_stale_provider(ROOT, UNCHECKED)
    with pytest.raises(StaleProvider):
        refuse_stale_provider(ROOT, 2)


@pytest.mark.parametrize(
    ("provider", "parent", "subtree", "may_reparent", "reason"),
    [
        (ROOT, None, ["root", "child"], False, None),
        (ROOT, OTHER, ["root", "child"], False, None),
        (ROOT, CHILD, ["root", "child"], True, "creating loop in the provider tree"),
        (ROOT, ROOT, ["root", "child"], True, "creating loop in the provider tree"),
        (CHILD, ROOT, ["child"], False, None),
        (CHILD, OTHER, ["child"], False, "re-parenting a provider"),
        (CHILD, OTHER, ["child"], True, None),
        (CHILD, None, ["child"], False, "un-parenting a provider"),
        (CHILD, None, ["child"], True, None),
    ],
)
def test_which_parents_a_provider_may_get(
    provider: Provider,
    parent: Provider | None,
    subtree: list[str],
    may_reparent: bool,
    reason: str | None,
) -> None:
    uuid = parent.uuid if parent else None
    if reason is None:
        refuse_bad_parent(provider, uuid, parent, subtree, may_reparent=may_reparent)
        return
    with pytest.raises(BadProvider) as error:
        refuse_bad_parent(provider, uuid, parent, subtree, may_reparent=may_reparent)
    assert error.value.reason.startswith(reason)


def test_a_parent_must_exist() -> None:
    with pytest.raises(BadProvider) as error:
        refuse_bad_parent(ROOT, "nobody", None, ["root"], may_reparent=True)
    assert error.value.reason == "parent provider UUID does not exist."
