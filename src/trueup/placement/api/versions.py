# SPDX-License-Identifier: Apache-2.0
"""Every microversion by name, and the negotiation with a client."""

from enum import IntEnum
from functools import lru_cache

import microversion_parse

SERVICE_TYPE = "placement"
HEADER = microversion_parse.STANDARD_HEADER


class V(IntEnum):
    """Every microversion, named for its change. The value is the minor number."""

    sentence: str
    text: str
    """As clients write it."""

    def __new__(cls, minor: int, sentence: str) -> "V":
        member = int.__new__(cls, minor)
        member._value_ = minor
        member.sentence, member.text = sentence, f"1.{minor}"
        return member

    INITIAL = 0, "Providers, inventories, allocations and usages."
    AGGREGATES = 1, "Providers are members of aggregates."
    RESOURCE_CLASSES = 2, "Operators create custom resource classes."
    MEMBER_OF = 3, "Providers can be listed by aggregate."
    RESOURCES = 4, "Providers can be listed by free capacity."
    DELETE_INVENTORIES = 5, "All inventories of a provider are deleted in one request."
    TRAITS = 6, "Providers have traits."
    PUT_CLASS_WITHOUT_BODY = 7, "PUT creates a resource class instead of renaming one."
    PROJECT_AND_USER = 8, "Allocation writes require a project and a user."
    PROJECT_USAGES = 9, "Usages of a project, or of one of its users."
    CANDIDATES = 10, "The service finds candidates for a request for resources."
    ALLOCATIONS_LINK = 11, "A provider links to its allocations."
    ALLOCATIONS_BY_PROVIDER = 12, "Allocations are written in the form in which they are read."
    POST_ALLOCATIONS = 13, "Allocations of several consumers are written at once."
    NESTED_PROVIDERS = 14, "Providers form trees."
    CACHE_HEADERS = 15, "Answers say when they were last modified and must not be cached."
    LIMIT = 16, "The number of candidates can be limited."
    CANDIDATE_TRAITS = 17, "Candidates can be filtered by required traits."
    REQUIRED = 18, "Providers can be listed by required traits."
    AGGREGATE_GENERATION = 19, "Aggregates are guarded by the generation of the provider."
    PROVIDER_ON_CREATE = 20, "Creating a provider returns the provider."
    CANDIDATE_MEMBER_OF = 21, "Candidates can be filtered by aggregate."
    FORBIDDEN_TRAITS = 22, "Traits can be forbidden."
    ERROR_CODES = 23, "Errors carry a code."
    REPEATED_MEMBER_OF = 24, "Membership in several aggregates can be required at once."
    GRANULAR = 25, "Candidates can be requested in groups of resources."
    FULLY_RESERVED = 26, "All of an inventory may be reserved."
    ALL_CLASSES = 27, "Provider summaries show all classes, not only the requested ones."
    CONSUMER_GENERATION = 28, "Consumers have a generation; allocation writes must send it."
    NESTED_CANDIDATES = 29, "Candidates may span a provider tree."
    RESHAPER = 30, "Inventories and allocations are moved at once."
    IN_TREE = 31, "Candidates can be limited to one tree."
    FORBIDDEN_AGGREGATES = 32, "Aggregates can be forbidden."
    NAMED_SUFFIXES = 33, "The suffix of a group may be any word."
    MAPPINGS = 34, "Candidates say which provider satisfied which group."
    ROOT_REQUIRED = 35, "Traits of the root can be required and forbidden."
    SAME_SUBTREE = 36, "Groups can be required below a common provider."
    REPARENTING = 37, "Providers can move from one tree to another."
    CONSUMER_TYPES = 38, "Consumers have a type."
    ANY_TRAITS = 39, "One trait out of several can be required."

    def __str__(self) -> str:
        return self.text


OLDEST, NEWEST = min(V), max(V)

_STRINGS = [str(version) for version in V]
_BY_MINOR = {int(version): version for version in V}


class Unacceptable(Exception):
    """A microversion that does not exist; the argument is the reason."""


class Malformed(Exception):
    """A header that does not name a microversion; the argument is the reason."""


# PERF: a service meets a handful of headers, and parsing one costs as much as routing.
@lru_cache(maxsize=256)
def negotiate(header: str | None) -> V:
    """The requested microversion; the oldest without a header.

    Raises Unacceptable or Malformed.
    """
    headers = {HEADER: header} if header else {}
    try:
        asked = microversion_parse.extract_version(headers, SERVICE_TYPE, _STRINGS)
    except ValueError as error:
        raise Unacceptable(str(error)) from error
    except TypeError as error:
        raise Malformed(str(error)) from error
    return _BY_MINOR[asked.minor]
