# SPDX-License-Identifier: Apache-2.0
"""Who is asking, and may they.

Three ways to know who asks: `noauth2`, which believes the token; whatever stands in front of the
application and has put the usual identity headers into the environment; and, for an embedded
service, that whoever reaches it is its administrator. Policies are asked here and nowhere else.
"""

from collections.abc import Mapping
from typing import Any

from oslo_context.context import RequestContext
from oslo_log import versionutils
from oslo_policy import policy

from trueup.placement.api.errors import Refused
from trueup.placement.api.policies import ROLES, RULES, Rule
from trueup.placement.api.request_ids import REQUEST_ID
from trueup.placement.config import ANYONE, Settings

OPEN_PATHS = frozenset({"", "/"})
"""What everyone may see: the versions of the service."""

_ANSWERS_MAX = 1000

_ADMINISTRATOR = {
    "HTTP_X_USER_ID": "admin",
    "HTTP_X_TENANT_ID": "admin",
    "HTTP_X_ROLES": "admin",
}


class Caller:
    """Who asks, and what the policies say about it."""

    __slots__ = ("_context", "_policies")

    def __init__(self, policies: "Policies", context: RequestContext):
        self._policies, self._context = policies, context

    @property
    def user_id(self) -> str | None:
        """Whoever is asking; None if nobody said."""
        return self._context.user_id

    def authorize(self, rule: str, project_id: str | None = None) -> None:
        """Raise Refused unless the policy of this name allows it.

        `project_id` is the project whose data is asked for; without it, the caller's own.
        """
        target = project_id or self._context.project_id
        try:
            allowed = self._policies.allow(rule, target, self._context)
        except policy.InvalidScope as error:
            raise Refused(403, rule) from error
        if not allowed:
            raise Refused(403, f"Policy does not allow {rule} to be performed.")


class Policies(policy.Enforcer):
    """The rules, which remember what they answered until a policy file changes."""

    def __init__(self, source: Any):
        # What a question is remembered under; another number for each set of rules.
        self._revision, self._loaded = 0, 0
        self._answers: dict[tuple[Any, ...], bool] = {}
        super().__init__(source)

    def allow(self, rule: str, project_id: str | None, context: RequestContext) -> bool:
        """Whether this caller may do that to a project. Raises policy.InvalidScope.

        PERF: of the 160 microseconds that oslo.policy takes for a rule, 60 look at the files.
        Those are still looked at each time; the rest is as much as a small request needs.
        """
        self.load_rules()
        # SAFETY: all that a rule can look at is part of the question.
        question = (self._revision, rule, project_id, repr(context.to_policy_values()))
        answer = self._answers.get(question)
        if answer is None:
            target = {"project_id": project_id, "user_id": context.user_id}
            answer = bool(self.authorize(rule, target, context))
            if len(self._answers) >= _ANSWERS_MAX:
                self._answers.clear()
            self._answers[question] = answer
        return answer

    def set_rules(self, *arguments: Any, **keywords: Any) -> None:
        """Part of a reload: one file."""
        super().set_rules(*arguments, **keywords)
        self._loaded += 1

    def load_rules(self, force_reload: bool = False) -> None:
        """Look at the files. SAFETY: only when all are read do new answers begin to count."""
        before = self._loaded
        super().load_rules(force_reload)
        if self._loaded != before:
            self._revision += 1


def enforcer_of(settings: Settings) -> Policies:
    """The rules of the service and, where it has them, of its policy file."""
    enforcer = Policies(settings.source)
    enforcer.suppress_default_change_warnings = True
    enforcer.suppress_deprecation_warnings = True
    enforcer.register_defaults(rule_defaults())
    enforcer.load_rules()
    return enforcer


class Door:
    """Lets callers in, one application's way."""

    def __init__(self, settings: Settings):
        self._believes_tokens = settings.auth_strategy == "noauth2"
        self._believes_anyone = settings.auth_strategy == ANYONE
        self._policies = enforcer_of(settings)

    def identify(self, environ: dict[str, Any]) -> Caller:
        """Who sends this request. Raises Refused if that is not known and matters."""
        is_open = environ.get("PATH_INFO", "") in OPEN_PATHS
        if self._believes_tokens and not is_open:
            environ.update(_identity_in_token(environ))
        elif self._believes_anyone:
            environ.update(_ADMINISTRATOR)
        # It becomes the thread's context, from which the log has its request id and user.
        context = RequestContext.from_environ(environ, request_id=environ.get(REQUEST_ID))
        caller = Caller(self._policies, context)
        if caller.user_id is None and not is_open:
            raise Refused(401)
        return caller


def rule_defaults() -> list[policy.RuleDefault]:
    """All rules with their defaults, for an enforcer or a sample file.

    Rules remember what they were registered with, so each enforcer needs its own.
    """
    earlier = policy.DeprecatedRule(
        name="rule:admin_api",
        check_str="role:admin",
        deprecated_reason="Placement's policies have roles of their own, with a scope.",
        deprecated_since=versionutils.deprecated.WALLABY,
    )
    return [_role_default(rule, earlier) for rule in ROLES] + [_rule_default(r) for r in RULES]


def _role_default(rule: Rule, earlier: policy.DeprecatedRule) -> policy.RuleDefault:
    return policy.RuleDefault(
        rule.name,
        rule.default,
        rule.description,
        deprecated_rule=earlier if rule.admins_too else None,
        scope_types=["project"] if rule.in_project else None,
    )


def _rule_default(rule: Rule) -> policy.RuleDefault:
    operations = [
        policy.Operation(method=method, path=path)
        for method, path in (request.split() for request in rule.requests)
    ]
    return policy.DocumentedRuleDefault(
        rule.name, rule.default, rule.description, operations, scope_types=["project"]
    )


def _identity_in_token(environ: Mapping[str, Any]) -> dict[str, str]:
    """The identity headers that a token `user[:project]` stands for, as upstream's noauth2."""
    token = environ.get("HTTP_X_AUTH_TOKEN")
    if token is None:
        raise Refused(401)
    user_id, _, project_id = token.partition(":")
    roles = environ.get("HTTP_X_ROLES", "admin" if user_id == "admin" else "")
    identity = {"HTTP_X_USER_ID": user_id, "HTTP_X_ROLES": roles}
    if not environ.get("HTTP_OPENSTACK_SYSTEM_SCOPE"):
        identity["HTTP_X_TENANT_ID"] = project_id or user_id
    return identity
