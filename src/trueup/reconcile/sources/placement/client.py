# SPDX-License-Identifier: Apache-2.0
"""Placement: reads providers and allocations, writes allocations.

It writes over the API of Trueup's or upstream's service. It reads the whole ledger from the
database if one is configured, else from the export if the service offers it, else over the API.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ClientException

from trueup.reconcile.facts import (
    JUDGED_TRAITS,
    PORT_TRAITS,
    Amounts,
    Holding,
    Inventory,
    LedgerFault,
    Provider,
    Unread,
    is_uuid,
)
from trueup.reconcile.sources.errors import (
    CloudError,
    LedgersDiffer,
    MicroversionTooOld,
    Unreachable,
)
from trueup.reconcile.sources.http import (
    detail,
    document_of,
    is_own_error,
    send_request,
    well_formed,
)
from trueup.reconcile.sources.notes import UNREAD_NAMED_MAX, Noted
from trueup.reconcile.sources.placement import documents, export
from trueup.reconcile.sources.placement.api import API, PARALLEL_REQUESTS, LedgerApi
from trueup.reconcile.sources.placement.contract import (
    SHARING_TRAIT,
    Ledger,
    LedgerDatabase,
    LedgerLookup,
    ProviderProgress,
)
from trueup.reconcile.sources.placement.documents import PLACEMENT
from trueup.reconcile.sources.placement.loaded import LoadedLedger
from trueup.reconcile.sources.placement.sharing import members_of_sharing, with_sharing, with_traits
from trueup.reconcile.sources.placement.usages import unlisted
from trueup.reconcile.threads import threads

# Consumer generations, which guard every write, came with 1.28 (Rocky).
NEEDED = 28
# Consumer types came with 1.38; nothing newer is used.
NEWEST_USED = 38
EXPORT_CHUNK_BYTES = 1 << 18
OK, BAD_REQUEST, NOT_FOUND, SERVER_ERROR = 200, 400, 404, 500
# The newest microversion without Last-Modified headers.
UNDATED = 14
# Requests that this microversion lacks, or answers in another format.
_DATED_ONLY = ("required=", "/aggregates")
_GENERATION = "resource_provider_generation"
# The path of a part of a provider, such as its inventories.
_PART = re.compile(r"(/resource_providers/[^/?]+)/.+")

# The uuid of no provider: a request for it reads the database, and lists nothing.
_NOBODY = "00000000-0000-0000-0000-000000000000"

_Content = tuple[dict[str, Inventory], Amounts, tuple[LedgerFault, ...]]


class Placement:
    """A client of one Placement service. Every method raises Unreachable or AccessDenied.

    With a `database`, the ledger is read from there; everything else still uses the API.
    """

    def __init__(
        self, adapter: Adapter, database: LedgerDatabase | None = None, *, served: bool = True
    ) -> None:
        """`served`: the API must serve this very database."""
        self._adapter = adapter
        self._database = database
        self._to_compare = served
        self._newest: int | None = None
        # By the path of the request.
        self._undated: dict[str, Unread] = {}

    def reading(self, database: LedgerDatabase) -> "Placement":
        """The same service, but with its ledger from this database, which it need not serve."""
        return Placement(self._adapter, database, served=False)

    def of_any_ledger(self) -> "Placement":
        """The same service and database, even if the service serves another ledger by now."""
        return Placement(self._adapter, self._database, served=False)

    def noted(self) -> Noted:
        """The requests that were answered only without timestamps."""
        undated = tuple(self._undated.values())
        return Noted(undated[:UNREAD_NAMED_MAX], len(undated))

    def newest_minor(self) -> int:
        """The newest microversion that both sides support. Raises MicroversionTooOld."""
        if self._newest is None:
            root = self._json("GET", "/", authenticated=False)
            with well_formed(PLACEMENT):
                word = str(root["versions"][0]["max_version"])
                newest = int(word.split(".")[1])
            if newest < NEEDED:
                raise MicroversionTooOld(word, f"1.{NEEDED}")
            self._newest = min(newest, NEWEST_USED)
        return self._newest

    def ledger(self, progress: ProviderProgress) -> Ledger:
        """All providers with their inventories, and all allocations."""
        if database := self._compared():
            return _at_once(database.ledger(), progress)
        self.newest_minor()
        exported = self._export()
        return _at_once(exported, progress) if exported else self._by_api(progress)

    def lookup(self, requests: int, hosts: int, progress: ProviderProgress) -> LedgerLookup:
        """The best lookup for parts that take about `requests` requests, in a cloud of `hosts`."""
        if database := self._compared():
            return database
        self.newest_minor()
        # PERF: the whole ledger takes three requests for each host, or one as an export.
        if requests > hosts:
            return LoadedLedger(self.ledger(progress))
        return LedgerApi(self._found)

    def lookup_of_trees(
        self, requests: int, hosts: int, progress: ProviderProgress
    ) -> LedgerLookup:
        """As `lookup`, for trees that need all traits and aggregates.

        The whole ledger has them only from the database or as an export.
        """
        if database := self._compared():
            return database
        self.newest_minor()
        if requests > hosts and (exported := self._export()):
            return LoadedLedger(_at_once(exported, progress))
        return LedgerApi(self._found)

    def _compared(self) -> LedgerDatabase | None:
        """The database, if there is one. Raises LedgersDiffer if the API serves another ledger.

        SAFETY: compared with an outdated copy, all newer claims would look like drift. The API is
        asked between two reads of the database, so a generation that grows meanwhile is seen in
        order. If the API does not answer, nothing can be written to it either.
        """
        database, compared = self._database, not self._to_compare
        self._to_compare = False
        if database is None or compared:
            return database
        before = database.generations()
        try:
            if before:
                served = {uuid: self._generation(uuid) for uuid in before}
            else:
                served = {
                    row.uuid: row.generation for row in self._providers("/resource_providers")
                }
        except CloudError:
            return database
        after = database.generations(served)
        for uuid, generation in served.items():
            if not _in_order(before.get(uuid), generation, after.get(uuid)):
                raise LedgersDiffer(database.address, str(self._adapter.get_endpoint()), uuid)
        return database

    def _generation(self, provider: str) -> int | None:
        """The generation of a provider in the API; None: the API has no such provider."""
        found = self._found(f"/resource_providers/{provider}")
        with well_formed(PLACEMENT):
            return None if found is None else int(found["generation"])

    def _export(self) -> Ledger | None:
        """The ledger from the export of Trueup's service; None if the export is not offered."""
        response = self._request("GET", export.EXPORT, minor=NEEDED, stream=True)
        with closing(response):
            if response.status_code != 200:
                return None
            try:
                return export.read(response.iter_lines(EXPORT_CHUNK_BYTES))
            except OSError as error:
                # The errors of `requests` are OSErrors: the connection broke.
                raise Unreachable(PLACEMENT, "its export ended early") from error

    def _by_api(self, progress: ProviderProgress) -> Ledger:
        listed = self._providers("/resource_providers")
        members = self._members_of_pools(listed)
        providers: list[Provider] = []
        consumers: dict[str, dict[str, Mapping[str, int]]] = {}
        faults: list[LedgerFault] = []
        with threads(PARALLEL_REQUESTS) as pool:
            contents = pool.map(self._content, [provider.uuid for provider in listed])
            for done, (provider, content) in enumerate(zip(listed, contents, strict=True), 1):
                progress(done, len(listed))
                if content is None:
                    continue
                inventories, allocations, hidden = content
                faults += hidden
                providers.append(replace(provider, inventories=inventories))
                for consumer, held in allocations.items():
                    consumers.setdefault(consumer, {})[provider.uuid] = held
        marked = with_traits(
            providers, {name: self._marked(name) for name in self._judged_traits()}
        )
        return Ledger(with_sharing(marked, members), consumers, API, tuple(faults))

    def _judged_traits(self) -> tuple[str, ...]:
        """JUDGED_TRAITS, and every existing trait with a prefix in PORT_TRAITS."""
        asked = (self._found(f"/traits?name=startswith:{prefix}") for prefix in PORT_TRAITS)
        found = (documents.traits(answer) for answer in asked if answer is not None)
        return (*JUDGED_TRAITS, *sorted(frozenset().union(*found)))

    def _marked(self, trait: str) -> frozenset[str]:
        """The providers with a trait; empty if this Placement does not know the trait."""
        response = self._request("GET", f"/resource_providers?required={trait}")
        if response.status_code == BAD_REQUEST:
            return frozenset()
        listed = documents.providers(document_of(PLACEMENT, response))
        return frozenset(row.uuid for row in listed)

    def with_aggregates(self, ledger: Ledger, aggregates: Iterable[str]) -> Ledger:
        """The same ledger with at least these aggregates of providers: one request for each."""
        if ledger.read_via != API:
            return ledger
        members = {
            aggregate: frozenset(
                row.uuid for row in self._providers(f"/resource_providers?member_of={aggregate}")
            )
            for aggregate in aggregates
        }
        providers = {
            uuid: replace(
                row,
                aggregates=frozenset(
                    aggregate for aggregate, uuids in members.items() if uuid in uuids
                ),
            )
            for uuid, row in ledger.providers.items()
        }
        return replace(ledger, providers=providers)

    def with_traits(
        self, providers: Mapping[str, Provider], names: Iterable[str]
    ) -> dict[str, Provider]:
        """The same providers, marked with those of these traits they have: one request for each."""
        marked = {name: self._marked(name) for name in sorted(names)}
        return {
            uuid: replace(
                row,
                traits=(row.traits or frozenset())
                | frozenset(name for name, uuids in marked.items() if uuid in uuids),
            )
            for uuid, row in providers.items()
        }

    def _members_of_pools(self, listed: Iterable[Provider]) -> dict[str, set[str]]:
        """By sharing provider, the providers that have an aggregate in common with it."""
        pools = self._providers(f"/resource_providers?required={SHARING_TRAIT}")
        aggregates = self._aggregates(row.uuid for row in pools)
        if all(is_uuid(aggregate) for every in aggregates.values() for aggregate in every):
            return {uuid: self._members(every) for uuid, every in aggregates.items()}
        # Placement refuses to search by text that was written by hand in place of a UUID, but a
        # pool still shares by it. So each provider is asked for its aggregates.
        return members_of_sharing(aggregates, self._aggregates(row.uuid for row in listed))

    def _aggregates(self, providers: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The aggregates of each of these providers."""
        wanted = tuple(providers)
        paths = [f"/resource_providers/{uuid}/aggregates" for uuid in wanted]
        with threads(PARALLEL_REQUESTS) as pool:
            answers = pool.map(self._found, paths)
            found = (documents.aggregates(answer) if answer else () for answer in answers)
            return dict(zip(wanted, found, strict=True))

    def _members(self, aggregates: tuple[str, ...]) -> set[str]:
        """The providers that are in one of these aggregates."""
        if not aggregates:
            return set()
        sharing = self._providers(f"/resource_providers?member_of=in:{','.join(aggregates)}")
        return {provider.uuid for provider in sharing}

    def usages(self, projects: Iterable[str]) -> dict[str, dict[str, int]]:
        """The usage of each of these projects in Placement: one request for each."""
        wanted = tuple(projects)
        with threads(PARALLEL_REQUESTS) as pool:
            return dict(zip(wanted, pool.map(self._usage, wanted), strict=True))

    def _usage(self, project: str) -> dict[str, int]:
        path = f"/usages?{urlencode({'project_id': project})}"
        # Later microversions separate what consumers of different types use.
        document = self._json("GET", path, minor=NEEDED)
        with well_formed(PLACEMENT):
            return {str(name): int(amount) for name, amount in document["usages"].items()}

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def holdings(self, consumers: Iterable[str]) -> dict[str, Holding]:
        """The allocations of each of these consumers, with owner and generation."""
        wanted = tuple(consumers)
        with threads(PARALLEL_REQUESTS) as pool:
            return dict(zip(wanted, pool.map(self.holding, wanted), strict=True))

    def holding(self, consumer: str) -> Holding:
        """The allocations of this consumer now, with owner and generation."""
        return documents.holding(self._json("GET", f"/allocations/{consumer}"))

    def readable_holdings(
        self, consumers: Iterable[str]
    ) -> tuple[dict[str, Holding], dict[str, str]]:
        """The allocations of each of these consumers, or the reasons why they are unreadable.

        Upstream's service answers HTTP 500 or 404 for a consumer with an unreadable row. As long as
        Placement answers other requests, this concerns this consumer alone.
        """
        wanted = tuple(consumers)
        with threads(PARALLEL_REQUESTS) as pool:
            found = dict(zip(wanted, pool.map(self._readable, wanted), strict=True))
        unread = {uuid: row for uuid, row in found.items() if isinstance(row, str)}
        if unread:
            # SAFETY: this raises if Placement cannot answer other requests either.
            self._providers(f"/resource_providers?uuid={_NOBODY}")
        readable = {uuid: row for uuid, row in found.items() if not isinstance(row, str)}
        return readable, unread

    def _readable(self, consumer: str) -> Holding | str:
        """The allocations of a consumer, or the error with which Placement itself answers."""
        response = self._request("GET", f"/allocations/{consumer}")
        shown = response.status_code < SERVER_ERROR and response.status_code != NOT_FOUND
        if not shown and is_own_error(response):
            return f"Placement answers HTTP {response.status_code} for it"
        return documents.holding(document_of(PLACEMENT, response))

    def provider_generation(self, uuid: str) -> int | None:
        """The provider's generation now; None if there is no such provider."""
        provider = self._found(f"/resource_providers/{uuid}")
        with well_formed(PLACEMENT):
            return None if provider is None else int(provider["generation"])

    def document(self, path: str) -> Any:
        """The document at a path; None: there is no document."""
        return self._found(path)

    def send(self, method: str, path: str, body: Any, minor: int | None = None) -> Any:
        """The response to a write, whatever its status. The write is never sent again.

        After Unreachable it is unknown whether the write was made.
        """
        return self._request(method, path, minor=minor, json=body)

    def endpoint(self) -> str:
        """The address that requests go to, or "" while it is not known."""
        try:
            return str(self._adapter.get_endpoint() or "")
        except ClientException:
            return ""

    def _providers(self, path: str) -> list[Provider]:
        """The providers that a path lists, without inventories."""
        return documents.providers(self._document(path, self._request("GET", path)))

    def _content(self, uuid: str) -> _Content | None:
        """A provider's inventories, allocations and faults; None if it was deleted meanwhile."""
        inventories = self._found(f"/resource_providers/{uuid}/inventories")
        allocations = self._found(f"/resource_providers/{uuid}/allocations")
        if inventories is None or allocations is None:
            return None
        stock, held = documents.inventories(inventories), documents.allocations(allocations)
        # PERF: usages count only classes with an inventory.
        faults = unlisted(uuid, self._found, allocations) if stock else ()
        return stock, held, faults

    def _found(self, path: str) -> Any:
        """The document at a path, or None if there is no document."""
        response = self._request("GET", path)
        if response.status_code != NOT_FOUND:
            return self._document(path, response)
        part = _PART.fullmatch(path)
        # SAFETY: upstream's service also answers 404 if a row names a resource class that does not
        # exist. Then the contents are unknown, not empty.
        if path.startswith("/allocations/") or (part and self._found(part[1]) is not None):
            raise _not_shown(path, response)
        return None

    def _document(self, path: str, response: Any) -> Any:
        """The document of this response; without dates, if Placement cannot date its rows."""
        if response.status_code != SERVER_ERROR or not is_own_error(response):
            return document_of(PLACEMENT, response)
        document = self._without_dates(path)
        if document is None:
            raise _not_shown(path, response)
        reason = f"HTTP {SERVER_ERROR}: {detail(response)}; read without them"
        self._undated[path] = Unread("GET", path, "timestamps", reason)
        return document

    def _without_dates(self, path: str) -> Any:
        """The document at a path that Placement cannot show with dates; None: nor without dates.

        PARITY: if some rows have no timestamps, as after an INSERT by hand, upstream's service
        answers HTTP 500, because it compares all of them. It does so from 1.15 on, and for
        inventories in every version, but not for a single inventory.
        """
        provider, _, part = path.rpartition("/")
        if part == "inventories":
            return self._one_by_one(provider)
        if any(part in path for part in _DATED_ONLY):
            return None
        undated = self._request("GET", path, minor=UNDATED)
        return document_of(PLACEMENT, undated) if undated.status_code == OK else None

    def _one_by_one(self, provider: str) -> Any:
        """All inventories of a provider, by its path; None if it has none, or if they change."""
        usages = self._found(f"{provider}/usages")
        if usages is None:
            return None
        # Usages name every class that has an inventory.
        rows = {
            name: self._found(f"{provider}/inventories/{name}") for name in documents.usages(usages)
        }
        generations = {documents.generation(answer) for answer in (usages, *rows.values())}
        whole = rows and len(generations) == 1
        return {"inventories": rows, _GENERATION: generations.pop()} if whole else None

    def _json(self, method: str, path: str, **options: Any) -> Any:
        return document_of(PLACEMENT, self._request(method, path, **options))

    def _request(self, method: str, path: str, minor: int | None = None, **options: Any) -> Any:
        chosen = self.newest_minor() if minor is None and path != "/" else minor
        version = None if chosen is None else f"1.{chosen}"
        return send_request(PLACEMENT, self._adapter, method, path, microversion=version, **options)


def _in_order(before: int | None, served: int | None, after: int | None) -> bool:
    """Whether these may be successive generations of one provider; None: no such provider.

    A generation never decreases, and a deleted provider does not come back.
    """
    if served is None or (before is None and after is None):
        return served is after
    return (before is None or before <= served) and (after is None or served <= after)


def _at_once(ledger: Ledger, progress: ProviderProgress) -> Ledger:
    progress(len(ledger.providers), len(ledger.providers))
    return ledger


def _not_shown(path: str, response: Any) -> Unreachable:
    return Unreachable(
        PLACEMENT,
        f"HTTP {response.status_code} for {path}: {detail(response)}; one of its rows may be "
        "broken, and with --placement-database the ledger is read without this request",
    )
