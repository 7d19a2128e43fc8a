# SPDX-License-Identifier: Apache-2.0
"""Traits of flavors and images; tests/differential/test_expected.py asks Nova for any of them."""

import pytest

from trueup.reconcile.expected import Unknown
from trueup.reconcile.expected.required_traits import required_traits
from trueup.reconcile.facts import Flavor
from trueup.reconcile.reasons import because


def flavor(**extra_specs: str) -> Flavor:
    specs = {name.replace("__", ":"): value for name, value in extra_specs.items()}
    return Flavor("a-flavor", 2, 512, 10, 0, 0, specs)


def test_each_group_has_its_own_traits():
    found = required_traits(flavor(trait__A="required", trait1__B="forbidden", trait__C="no"), {})
    assert {suffix: (row.required, row.forbidden) for suffix, row in found.items()} == {
        "": ({"A"}, set()),
        "1": (set(), {"B"}),
    }


def test_a_policy_that_the_flavor_only_prefers_is_the_images():
    found = required_traits(
        flavor(hw__cpu_thread_policy="prefer"), {"hw_cpu_thread_policy": "isolate"}
    )
    assert found[""].forbidden == {"HW_CPU_HYPERTHREADING"}


@pytest.mark.parametrize(
    ("specs", "image", "reason"),
    [
        (
            {"os__secure_boot": "required"},
            {"os_secure_boot": "disabled"},
            because(
                "flavor-image-differ",
                property="os:secure_boot",
                by_flavor="required",
                by_image="disabled",
            ),
        ),
        (
            {"hw__tpm_version": "3.0"},
            {},
            because(
                "property-unknown", property="hw:tpm_version", value="3.0", allowed=("1.2", "2.0")
            ),
        ),
    ],
)
def test_what_nova_refuses_is_named(specs, image, reason):
    assert required_traits(flavor(**specs), image) == Unknown(reason)
