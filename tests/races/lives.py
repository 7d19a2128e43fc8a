# SPDX-License-Identifier: Apache-2.0
"""Clients that claim, move and release as Nova does, each request at any of the workers."""

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests

NEWEST = "placement 1.39"
AGGREGATE, OTHER = (str(uuid.uuid5(uuid.NAMESPACE_OID, name)) for name in ("one", "other"))
TRAIT, OTHER_TRAIT = "HW_CPU_X86_AVX2", "HW_CPU_X86_AVX"
HOSTS = 8
HELD_AT_ONCE = 6
STOCK = {"VCPU": {"total": 4}, "MEMORY_MB": {"total": 4096, "reserved": 512}}
QUERIES = (
    "resources=VCPU:1",
    "resources=VCPU:3,MEMORY_MB:512",
    f"resources=VCPU:1&required={TRAIT}",
    f"resources=VCPU:1&required=!{TRAIT}",
    f"resources=VCPU:2&member_of={AGGREGATE}",
    "resources=VCPU:1,SRIOV_NET_VF:1",
    "resources=VCPU:1&resources1=SRIOV_NET_VF:1&resources2=SRIOV_NET_VF:1&group_policy=isolate",
)


class Unexpected(Exception):
    """An answer that no client should get."""


def send(worker: str, method: str, path: str, body: Any = None) -> requests.Response:
    headers = {
        "x-auth-token": "admin",
        "accept": "application/json",
        "openstack-api-version": NEWEST,
    }
    return requests.request(method, worker + path, json=body, headers=headers, timeout=60)


def candidates(worker: str, query: str) -> Any:
    answer = send(worker, "GET", f"/allocation_candidates?{query}")
    if answer.status_code != 200:
        raise Unexpected(f"{worker} {query}: {answer.status_code} {answer.text}")
    return answer.json()


def build(worker: str) -> None:
    """Hosts with two network cards each, of two traits and two aggregates."""
    for number in range(HOSTS):
        host = _provider(worker, f"host{number}", STOCK)
        for card in range(2):
            _provider(worker, f"host{number}-card{card}", {"SRIOV_NET_VF": {"total": 2}}, host)
        trait, aggregate = (TRAIT, OTHER_TRAIT)[number % 2], (AGGREGATE, OTHER)[number % 3 == 0]
        _must(worker, f"{host}/traits", {"traits": [trait]}, 1)
        _must(worker, f"{host}/aggregates", {"aggregates": [aggregate]}, 2)


def _provider(worker: str, name: str, stock: dict[str, Any], parent: str | None = None) -> str:
    own = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    body = {"uuid": own, "name": name, "parent_provider_uuid": parent}
    assert send(worker, "POST", "/resource_providers", body).status_code == 200
    _must(worker, f"{own}/inventories", {"inventories": stock}, 0)
    return own


def _must(worker: str, path: str, body: dict[str, Any], generation: int) -> None:
    body |= {"resource_provider_generation": generation}
    answer = send(worker, "PUT", f"/resource_providers/{path}", body)
    assert answer.status_code == 200, answer.text


@dataclass
class Client:
    """One that remembers what was acknowledged: by consumer, what it holds of which provider."""

    workers: Sequence[str]
    chance: random.Random
    held: dict[str, dict[str, Any]] = field(default_factory=dict)
    acknowledged: int = 0
    refused: int = 0
    upstreams: frozenset[str] = frozenset()
    """Workers that answer 500 if the database ends a report of stock as a deadlock."""

    def live(self, steps: int) -> None:
        for _ in range(steps):
            if len(self.held) == HELD_AT_ONCE:
                self._release(self.chance.choice(sorted(self.held)))
            action = self.chance.choice((self._boot, self._boot, self._move, self._report))
            action()

    def _boot(self) -> None:
        if chosen := self._chosen():
            self._write({self._new_name(): chosen})

    def _move(self) -> None:
        """The migration takes what the instance holds, and is released later."""
        if self.held and (chosen := self._chosen()):
            instance = self.chance.choice(sorted(self.held))
            self._write({self._new_name(): self.held[instance], instance: chosen})

    def _release(self, consumer: str) -> None:
        if self.chance.random() < 0.5:
            self._write({consumer: {}})
        else:
            self._expect("DELETE", f"/allocations/{consumer}", None, 204)
            del self.held[consumer]

    def _report(self) -> None:
        """A host of nobody's changes its disk, as nova-compute does."""
        provider = uuid.uuid5(uuid.NAMESPACE_OID, f"host{self.chance.randrange(HOSTS)}")
        path = f"/resource_providers/{provider}/inventories"
        stock = self._expect("GET", path, None, 200).json()
        stock["inventories"]["DISK_GB"] = {"total": self.chance.randint(1, 9)}
        self._expect("PUT", path, stock, 200, 409)

    def _chosen(self) -> dict[str, Any] | None:
        found = candidates(self._worker(), self.chance.choice(QUERIES))["allocation_requests"]
        return self.chance.choice(found)["allocations"] if found else None

    def _write(self, wanted: dict[str, dict[str, Any]]) -> None:
        body = {
            consumer: {
                "allocations": {
                    provider: {"resources": one["resources"]} for provider, one in places.items()
                },
                "project_id": "project",
                "user_id": "user",
                "consumer_type": "INSTANCE",
                "consumer_generation": self._generation(consumer),
            }
            for consumer, places in wanted.items()
        }
        if self._expect("POST", "/allocations", body, 204, 409).status_code == 409:
            self.refused += 1
            return
        self.acknowledged += 1
        self.held = {name: places for name, places in (self.held | wanted).items() if places}

    def _generation(self, consumer: str) -> int | None:
        """Of what this client alone writes: any worker has to know what was acknowledged."""
        found = self._expect("GET", f"/allocations/{consumer}", None, 200).json()
        if _amounts(found["allocations"]) != _amounts(self.held.get(consumer, {})):
            raise Unexpected(f"{consumer} holds {found}, and not {self.held.get(consumer)}")
        return found.get("consumer_generation")

    def _expect(self, method: str, path: str, body: Any, *statuses: int) -> requests.Response:
        worker = self._worker()
        answer = send(worker, method, path, body)
        is_deadlock = answer.status_code == 500 and "Deadlock" in answer.text
        gave_up = is_deadlock and method == "PUT" and worker in self.upstreams
        if answer.status_code not in statuses and not gave_up:
            raise Unexpected(f"{worker} {method} {path}: {answer.status_code} {answer.text}")
        return answer

    def _worker(self) -> str:
        return self.chance.choice(self.workers)

    def _new_name(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def rows(self) -> Iterator[tuple[str, str, str, int]]:
        """What the table of allocations should have of this client."""
        for consumer, places in self.held.items():
            for provider, one in places.items():
                yield from ((consumer, provider, *used) for used in one["resources"].items())


def _amounts(places: dict[str, Any]) -> dict[str, Any]:
    return {provider: one["resources"] for provider, one in places.items()}
