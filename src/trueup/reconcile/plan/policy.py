# SPDX-License-Identifier: Apache-2.0
"""A policy: what a team lets be repaired, and how. Pure."""

from collections.abc import Mapping

import msgspec

SIGNERS = "/etc/trueup/allowed_signers"


class ApprovalTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who may approve plans, and how many have to.

    `required` counts for every plan. `signers` and `revoked` are files as OpenSSH has them: allowed
    signers, and revoked keys. `accounts` has the account of a person where it is not the part of
    the principal before its @.
    """

    required: int = 0
    signers: str = SIGNERS
    revoked: str = ""
    accounts: Mapping[str, str] = {}

    def account_of(self, principal: str) -> str:
        """The account by which a person applies plans."""
        return self.accounts.get(principal, principal.partition("@")[0])


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The content of a policy's file."""

    approval: ApprovalTerms = ApprovalTerms()
