# SPDX-License-Identifier: Apache-2.0
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.placement.client import Client
from trueup.placement.api import access


def test_the_versions_are_for_everyone(client: Client) -> None:
    client.headers.clear()
    assert client.get("/").status == 200
    assert client.get("/traits").status == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-auth-token": "admin"}, 200),
        ({"x-auth-token": "somebody"}, 403),
        ({"x-auth-token": "somebody", "x-roles": "admin"}, 200),
        ({"x-auth-token": "nova", "x-roles": "service"}, 200),
        ({"x-auth-token": "admin", "x-roles": "reader"}, 403),
    ],
)
def test_roles_decide(client: Client, headers: dict[str, str], status: int) -> None:
    assert client.get("/traits", headers=headers).status == status


def test_readers_see_what_their_own_project_uses(
    serve: Callable[..., Client], empty_ledger: str
) -> None:
    client = serve(empty_ledger, oslo_policy={"enforce_new_defaults": True})
    client.headers |= {"x-auth-token": "reader:mine", "x-roles": "reader"}
    assert client.get("/usages?project_id=mine").status == 200
    assert client.get("/usages?project_id=other").status == 403


def test_operators_can_change_policies(
    serve: Callable[..., Client], empty_ledger: str, tmp_path: Path
) -> None:
    policies = tmp_path / "policy.yaml"
    policies.write_text('"placement:traits:list": "@"\n')
    client = serve(empty_ledger, oslo_policy={"policy_file": str(policies)})
    somebody = {"x-auth-token": "somebody"}
    assert client.get("/traits", headers=somebody).status == 200
    assert client.get("/resource_classes", headers=somebody).status == 403


def test_a_changed_policy_file_counts_a_second_later(
    serve: Callable[..., Client],
    empty_ledger: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policies = tmp_path / "policy.yaml"
    policies.touch()
    os.utime(policies, (0, 0))
    seconds = itertools.count()
    monkeypatch.setattr(access, "monotonic", lambda: next(seconds))
    client = serve(empty_ledger, oslo_policy={"policy_file": str(policies)})
    somebody = {"x-auth-token": "somebody"}
    for moment, (check, status) in enumerate([("!", 403), ("@", 200), ("!", 403)], 1):
        policies.write_text(f'"placement:traits:list": "{check}"\n')
        os.utime(policies, (moment, moment))
        for _ in range(2):
            assert client.get("/traits", headers=somebody).status == status


def test_applications_do_not_share_their_policies(
    serve: Callable[..., Client], empty_ledger: str, tmp_path: Path
) -> None:
    policies = tmp_path / "policy.yaml"
    policies.write_text('"placement:traits:list": "@"\n')
    serve(empty_ledger, oslo_policy={"policy_file": str(policies)})
    strict = serve(empty_ledger)
    assert strict.get("/traits", headers={"x-auth-token": "somebody"}).status == 403


@pytest.mark.parametrize("query", ["", "?project_id=", "?user_id=reader"])
def test_readers_may_not_ask_for_the_usages_of_no_project(client: Client, query: str) -> None:
    client.headers |= {"x-auth-token": "reader:mine", "x-roles": "reader"}
    assert client.get("/usages?project_id=mine").status == 200
    assert client.get(f"/usages{query}").status == 403


def test_the_usages_of_a_project_belong_to_no_user(
    serve: Callable[..., Client], empty_ledger: str, tmp_path: Path
) -> None:
    """A rule about users must not compare the caller with itself, which would permit everyone."""
    policies = tmp_path / "policy.yaml"
    own = "user_id:%(user_id)s"
    policies.write_text(f'"placement:usages": "{own}"\n"placement:traits:list": "{own}"\n')
    client = serve(empty_ledger, oslo_policy={"policy_file": str(policies)})
    stranger = {"x-auth-token": "mallory:other", "x-roles": "member,reader"}
    for project in ("victim", "other"):
        assert client.get(f"/usages?project_id={project}", headers=stranger).status == 403
    # Every other request is about the caller.
    assert client.get("/traits", headers=stranger).status == 200
