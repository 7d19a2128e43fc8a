# SPDX-License-Identifier: Apache-2.0
"""The limits of projects in Nova: its own quotas, or Keystone's unified limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """A limit for every project, and those of single projects, by resource; below 0: unlimited.

    Resources are named as the limits name them: `cores`, or `class:VCPU`. `model` is Keystone's
    enforcement model.
    """

    default: Mapping[str, int]
    of_project: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    model: str = "flat"

    @property
    def usable(self) -> bool:
        """Whether Nova can use them. PARITY: oslo.limit fails with any other model."""
        return self.model == "flat"

    def of(self, project: str, resource: str) -> int | None:
        """The limit of a project; None: nobody has set one.

        PARITY: a limit of its parent or its domain means nothing in Nova.
        """
        return self.of_project.get(project, {}).get(resource, self.default.get(resource))


@dataclass(frozen=True, slots=True)
class QuotaRules:
    """How Nova limits projects, as section [quota] of its nova.conf says.

    `unified`: by Keystone's limits, which count usage in Placement; else by Nova's own quotas,
    which count its instances or, with `from_placement`, usage in Placement. If `required`, Nova
    refuses the `listed` resources without a registered limit, else it refuses all others.
    `dedicated_too`: `class:VCPU` counts PCPU as well.
    """

    unified: bool = False
    from_placement: bool = False
    required: bool = True
    listed: frozenset[str] = frozenset({"servers"})
    dedicated_too: bool = False

    def refuses(self, resource: str) -> bool:
        """Whether Nova refuses a resource that has no registered limit."""
        return (resource in self.listed) == self.required


@dataclass(frozen=True, slots=True)
class Quotas:
    """The rules, Nova's own quotas, and Keystone's limits; None: nova.conf names no account."""

    rules: QuotaRules
    own: Limits
    unified: Limits | None = None
