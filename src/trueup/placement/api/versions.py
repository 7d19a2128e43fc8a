# SPDX-License-Identifier: Apache-2.0
"""Every microversion by name, and which of them a client asks for."""

from enum import IntEnum
from functools import lru_cache

import microversion_parse

SERVICE_TYPE = "placement"
HEADER = microversion_parse.STANDARD_HEADER


class V(IntEnum):
    """Every microversion, named for what it brought. The value is the minor number."""

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
    RESOURCE_CLASSES = 2, "Operators make resource classes of their own."
    MEMBER_OF = 3, "Providers can be listed by aggregate."
    RESOURCES = 4, "Providers can be listed by the room they have."
    DELETE_INVENTORIES = 5, "All inventories of a provider are deleted in one request."
    TRAITS = 6, "Providers have traits."
    PUT_CLASS_WITHOUT_BODY = 7, "PUT makes a resource class instead of renaming one."
    PROJECT_AND_USER = 8, "Allocation writes must say which project and user they are for."
    PROJECT_USAGES = 9, "Usages of a project, or of a user of it."
    CANDIDATES = 10, "Ways to satisfy a request for resources are found by the service."
    ALLOCATIONS_LINK = 11, "A provider links to its allocations."
    ALLOCATIONS_BY_PROVIDER = 12, "Allocations are written in the form in which they are read."
    POST_ALLOCATIONS = 13, "Allocations of several consumers are written at once."
    NESTED_PROVIDERS = 14, "Providers form trees."
    CACHE_HEADERS = 15, "Answers say when they were last modified and must not be cached."
    LIMIT = 16, "The number of candidates can be limited."
    CANDIDATE_TRAITS = 17, "Candidates can be asked for by required traits."
    REQUIRED = 18, "Providers can be listed by required traits."
    AGGREGATE_GENERATION = 19, "Aggregates are guarded by the generation of the provider."
    PROVIDER_ON_CREATE = 20, "Making a provider answers with the provider."
    CANDIDATE_MEMBER_OF = 21, "Candidates can be asked for by aggregate."
    FORBIDDEN_TRAITS = 22, "Traits can be forbidden."
    ERROR_CODES = 23, "Errors carry a code."
    REPEATED_MEMBER_OF = 24, "Membership in several aggregates can be asked for at once."
    GRANULAR = 25, "Candidates can be asked for in groups of resources."
    FULLY_RESERVED = 26, "All of an inventory may be reserved."
    ALL_CLASSES = 27, "Provider summaries show all classes, not only those asked for."
    CONSUMER_GENERATION = 28, "Consumers carry a generation; allocation writes must quote it."
    NESTED_CANDIDATES = 29, "Candidates may span a provider tree."
    RESHAPER = 30, "Inventories and allocations are moved at once."
    IN_TREE = 31, "Candidates can be asked for within one tree."
    FORBIDDEN_AGGREGATES = 32, "Aggregates can be forbidden."
    NAMED_SUFFIXES = 33, "The suffix of a group may be any word."
    MAPPINGS = 34, "Candidates say which provider satisfied which group."
    ROOT_REQUIRED = 35, "Traits of the root can be required and forbidden."
    SAME_SUBTREE = 36, "Groups can be asked for below a common provider."
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
    """What should be a microversion is not; the argument is the reason."""


# PERF: a service meets a handful of headers, and parsing one costs as much as routing.
@lru_cache(maxsize=256)
def negotiate(header: str | None) -> V:
    """The microversion asked for; the oldest if nothing is asked.

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
