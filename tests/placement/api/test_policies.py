# SPDX-License-Identifier: Apache-2.0
"""The rules against upstream's."""

from placement import policies as upstream

from trueup.placement.api.access import rule_defaults
from trueup.placement.api.policies import ADDITIONS

OWN = {rule.name for rule in ADDITIONS}


def test_names_defaults_and_scopes_are_upstreams() -> None:
    def facts(rules):
        return {
            rule.name: (rule.check_str, rule.scope_types, rule.deprecated_rule is not None)
            for rule in rules
            if rule.name not in OWN
        }

    assert facts(rule_defaults()) == facts(upstream.list_rules())


def test_rules_are_asked_for_the_same_requests() -> None:
    def operations(rules):
        return {
            rule.name: sorted(
                (operation["method"], operation["path"]) for operation in rule.operations
            )
            for rule in rules
            if hasattr(rule, "operations") and rule.name not in OWN
        }

    assert operations(rule_defaults()) == operations(upstream.list_rules())
