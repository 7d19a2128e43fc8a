# SPDX-License-Identifier: Apache-2.0
"""Authentication of callers, and the policies that authorize them.

A caller is identified in one of three ways: with `noauth2`, by the token alone; with keystone, by
the identity headers that the middleware in front of the API adds; an embedded service treats every
caller as an administrator. Policies are enforced only here.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any

from oslo_context.context import RequestContext
from oslo_log import versionutils
from oslo_policy import policy

from trueup.placement.api.errors import Refused
from trueup.placement.api.policies import ADDITIONS, ROLES, RULES, Role, Rule
from trueup.placement.api.request_ids import REQUEST_ID
from trueup.placement.config import ANYONE, ConfigurationUnusable, Settings

OPEN_PATHS = frozenset({"", "/"})
"""The paths without authentication: the versions of the service."""

_DEFAULTS = frozenset({"opt_default", "set_default"})

_ANSWERS_MAX = 1000
_FILES_TRUSTED_SECONDS = 1.0

_log = logging.getLogger(__name__)

_ADMINISTRATOR = {
    "HTTP_X_USER_ID": "admin",
    "HTTP_X_TENANT_ID": "admin",
    "HTTP_X_ROLES": "admin,service",
}


class Policies(policy.Enforcer):
    """The rules, and their results since the last change of a policy file."""

    def __init__(self, source: Any):
        # SAFETY: held while rules are evaluated or loaded, so that no thread sees half of a reload.
        self.asking = Lock()
        self.answers: dict[tuple[Any, ...], bool] = {}
        self.trusted_until = 0.0
        """The time (monotonic, in seconds) from which the files are checked again."""
        super().__init__(source)

    def reload(self) -> None:
        """Load changed policy files. A broken file is logged, and changes nothing."""
        try:
            self.load_rules()
        except Exception as error:
            # A file may be unreadable, not text, not YAML, or not a mapping.
            _log.error("The policies stay as they were, %s: %s", self.files(), error)

    def files(self) -> str:
        """The source of the rules, for messages."""
        return f"policy file {self.policy_path or self.policy_file}"

    def set_rules(self, *arguments: Any, **keywords: Any) -> None:
        """A part of a reload: one file. Earlier results are dropped."""
        super().set_rules(*arguments, **keywords)
        self.answers = {}


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, and the policies that authorize it."""

    context: RequestContext
    policies: Policies

    def authorize(self, rule: str, target: Mapping[str, str | None] | None = None) -> None:
        """Raise Refused unless the policy of this name allows it.

        `target` has the values that a rule can compare with the caller; the default is the caller's
        own project and user. PERF: oslo.policy takes 160 microseconds for a rule, as much as a
        small request; its results are cached until the rules change.
        """
        context, policies = self.context, self.policies
        if target is None:
            target = {"project_id": context.project_id, "user_id": context.user_id}
        with policies.asking:
            # PERF: this check is 8 system calls, a tenth of a small request.
            if monotonic() >= policies.trusted_until:
                policies.reload()
                policies.trusted_until = monotonic() + _FILES_TRUSTED_SECONDS
            # SAFETY: the key has everything that a rule can depend on.
            question = (rule, *target.items(), repr(context.to_policy_values()))
            allowed = policies.answers.get(question)
            if allowed is None:
                try:
                    allowed = bool(policies.authorize(rule, dict(target), context))
                except policy.InvalidScope as error:
                    raise Refused(403, rule) from error
                if len(policies.answers) >= _ANSWERS_MAX:
                    policies.answers.clear()
                policies.answers[question] = allowed
        if not allowed:
            raise Refused(403, f"Policy does not allow {rule} to be performed.")


def enforcer_of(settings: Settings) -> Policies:
    """The rules of the service, with those of its policy file, if there is one.

    Raises ConfigurationUnusable if the configured file is missing, or a file is broken.
    """
    enforcer = Policies(settings.source)
    enforcer.suppress_default_change_warnings = True
    enforcer.suppress_deprecation_warnings = True
    enforcer.register_defaults(rule_defaults())
    options = settings.source.oslo_policy
    where = settings.source.get_location("policy_file", "oslo_policy")
    is_chosen = where is not None and where.location.name not in _DEFAULTS
    if is_chosen and settings.source.find_file(options.policy_file) is None:
        raise ConfigurationUnusable(
            f"the policy file {options.policy_file} of [oslo_policy] policy_file does not exist"
        )
    try:
        enforcer.load_rules()
    except Exception as error:
        said = " ".join(str(error).split())
        raise ConfigurationUnusable(f"{enforcer.files()} cannot be used: {said}") from error
    return enforcer


class Authenticator:
    """Identifies callers, in the way that the settings choose."""

    def __init__(self, settings: Settings):
        self._believes_tokens = settings.auth_strategy == "noauth2"
        self._believes_anyone = settings.auth_strategy == ANYONE
        self._policies = enforcer_of(settings)

    def identify(self, environ: dict[str, Any]) -> Caller:
        """The caller of a request. Raises Refused without identity, except for the open paths."""
        is_open = environ.get("PATH_INFO", "") in OPEN_PATHS
        if self._believes_tokens and not is_open:
            # PARITY: a token of noauth2 is `user[:project]`.
            if "HTTP_X_AUTH_TOKEN" not in environ:
                raise Refused(401)
            user_id, _, project_id = environ["HTTP_X_AUTH_TOKEN"].partition(":")
            environ["HTTP_X_USER_ID"] = user_id
            environ.setdefault("HTTP_X_ROLES", "admin" if user_id == "admin" else "")
            if not environ.get("HTTP_OPENSTACK_SYSTEM_SCOPE"):
                environ["HTTP_X_TENANT_ID"] = project_id or user_id
        elif self._believes_anyone:
            environ.update(_ADMINISTRATOR)
        # The thread's context, from which the log takes request ID and user.
        context = RequestContext.from_environ(environ, request_id=environ.get(REQUEST_ID))
        if context.user_id is None and not is_open:
            raise Refused(401)
        return Caller(context, self._policies)


def rule_defaults() -> list[policy.RuleDefault]:
    """All rules with their defaults, for an enforcer or a sample file.

    A rule keeps a reference to its enforcer, so each enforcer needs its own.
    """
    earlier = policy.DeprecatedRule(
        name="rule:admin_api",
        check_str="role:admin",
        deprecated_reason="Placement's policies have roles of their own, with a scope.",
        deprecated_since=versionutils.deprecated.WALLABY,
    )
    roles = [_role_default(rule, earlier) for rule in ROLES]
    return roles + [_rule_default(rule) for rule in (*RULES, *ADDITIONS)]


def _role_default(rule: Role, earlier: policy.DeprecatedRule) -> policy.RuleDefault:
    return policy.RuleDefault(
        rule.name,
        rule.default,
        rule.description,
        deprecated_rule=earlier if rule.admins_too else None,
        scope_types=["project"] if rule.in_project else None,
    )


def _rule_default(rule: Rule) -> policy.RuleDefault:
    # Plain dictionaries: oslo.policy has a type for them only since 5.0.
    operations: Any = [
        dict(zip(("method", "path"), request.split(), strict=True)) for request in rule.requests
    ]
    return policy.DocumentedRuleDefault(
        rule.name, rule.default, rule.description, operations, scope_types=["project"]
    )
