# SPDX-License-Identifier: Apache-2.0
"""For any flavor and image, Trueup expects what Nova's own scheduler requests, and asks the same.

The scheduler is the real one, of the nova package among the test requirements. What its API would
have refused (a policy that is none, a mask that does not fit) is refused here as Unknown; what
both accept must give the same groups, with and without dedicated processors.
"""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nova import exception, objects
from nova.scheduler.utils import ResourceRequest

from trueup.reconcile.expected import UNSUFFIXED, Unknown, candidate_query, flavor_groups
from trueup.reconcile.facts import Flavor

EXAMPLES = os.environ.get("TRUEUP_EXAMPLES")
MANY = settings(
    max_examples=int(EXAMPLES or 300), derandomize=EXAMPLES is None, database=None, deadline=None
)
CLASSES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB", "VGPU", "CUSTOM_GOLD", "MEM_ENCRYPTION_CONTEXT")
SUFFIXES = ("", "1", "2", "_NIC", "-a")
POLICIES = ("dedicated", "mixed", "shared", "loose")
MASKS = ("0-1", "^0", "1", "0,2", "0-3,^1", "^0-1", "7", "a", "1,^1", " 1 , 2 ")
# Nova refuses encrypted memory without them, whoever asks for it.
ENCRYPTABLE = {"hw_firmware_type": "uefi", "hw_machine_type": "q35"}

amounts = st.sampled_from(("0", "1", "3", "64", "-1", "many", "", " 5", "1.5"))
overrides = st.dictionaries(
    st.builds(
        "resources{}:{}".format, st.sampled_from(SUFFIXES), st.sampled_from((*CLASSES, "APPLES"))
    ),
    amounts,
    max_size=4,
)
others = st.fixed_dictionaries(
    {},
    optional={
        "hw:cpu_policy": st.sampled_from(POLICIES),
        "hw:cpu_thread_policy": st.sampled_from(("isolate", "require", "prefer")),
        "hw:emulator_threads_policy": st.sampled_from(("isolate", "share", "odd")),
        "hw:cpu_dedicated_mask": st.sampled_from(MASKS),
        "hw:cpu_realtime": st.sampled_from(("yes", "no", "true", "1")),
        "hw:cpu_realtime_mask": st.sampled_from(MASKS),
        "hw:mem_encryption": st.sampled_from(("true", "false", "1")),
        "hw:pmem": st.sampled_from(("6GB", "6GB,6GB,small", "", " 4 GB ,", "a-b")),
        "hw:tpm_version": st.just("2.0"),
        "trait1:CUSTOM_FAST": st.just("required"),
        "group_policy": st.sampled_from(("none", "isolate")),
    },
)
traits = st.dictionaries(
    st.builds(
        "trait{}:{}".format, st.sampled_from(SUFFIXES), st.sampled_from(("CUSTOM_A", "CUSTOM_B"))
    ),
    st.sampled_from(("required", "forbidden", "wanted")),
    max_size=3,
)
# What flavors (`hw:name`) and images (`hw_name`) may say alike, and Nova makes a trait of.
SETTINGS = {
    "hw:tpm_version": ("1.2", "2.0"),
    "hw:tpm_model": ("tpm-tis", "tpm-crb"),
    "hw:maxphysaddr_mode": ("passthrough", "emulate"),
    "hw:pci_numa_affinity_policy": ("socket", "required", "legacy", "preferred"),
    "hw:cpu_thread_policy": ("isolate", "require", "prefer"),
    "hw:mem_encryption": ("true", "false"),
    "hw:mem_encryption_model": ("amd-sev", "amd-sev-es"),
    "os:secure_boot": ("required", "disabled", "optional"),
}
of_flavors = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from((*values, "odd")) for name, values in SETTINGS.items()}
)
of_images = st.fixed_dictionaries(
    {},
    optional={
        **{name.replace(":", "_"): st.sampled_from(values) for name, values in SETTINGS.items()},
        "hw_firmware_stateless": st.sampled_from(("true", "false")),
        "trait:CUSTOM_A": st.sampled_from(("required", "forbidden")),
        "trait:HW_CPU_X86_AVX2": st.just("required"),
    },
)
images = st.fixed_dictionaries(
    {},
    optional={
        "hw_cpu_policy": st.sampled_from(("dedicated", "mixed", "shared")),
        "hw_cpu_realtime_mask": st.sampled_from(MASKS),
        "hw_mem_encryption": st.sampled_from(("true", "false")),
    },
)
sizes = st.fixed_dictionaries(
    {
        "vcpus": st.integers(1, 8),
        "memory_mb": st.integers(0, 4096),
        "root_gb": st.integers(0, 40),
        "ephemeral_gb": st.integers(0, 8),
        "swap": st.integers(0, 4096),
    }
)


@pytest.fixture(scope="module", autouse=True)
def _nova() -> None:
    objects.register_all()


def spec_of(
    size: Mapping[str, int], specs: dict[str, str], image: dict[str, str], volume_backed: bool
) -> Any:
    return objects.RequestSpec(
        flavor=objects.Flavor(name="a-flavor", extra_specs=specs, **size),
        image=objects.ImageMeta(
            id="9bd2f7a5-7f7c-4a4b-8f0b-6f5f0c3c2f11",
            name="an-image",
            properties=objects.ImageMetaProps.from_dict(image | ENCRYPTABLE),
        ),
        is_bfv=volume_backed,
    )


def asked_by_nova(
    size: Mapping[str, int], specs: dict[str, str], image: dict[str, str], **how: Any
) -> dict[str, dict[str, int]] | None:
    """The groups of its scheduler that ask for anything; None where it refuses."""
    spec = spec_of(size, specs, image, how["volume_backed"])
    try:
        found = ResourceRequest.from_request_spec(spec, how["pinning"])
    except (exception.NovaException, ValueError):
        return None
    return {
        suffix or UNSUFFIXED: dict(group.resources)
        for suffix, group in found._rg_by_id.items()
        if group.resources
    }


def flavor_of(size: Mapping[str, int], specs: dict[str, str]) -> Flavor:
    plain = {name: amount for name, amount in size.items() if name != "swap"}
    return Flavor("a-flavor", **plain, swap_mb=size["swap"], extra_specs=specs)


@MANY
@given(
    size=sizes,
    specs=st.builds(lambda one, two: one | two, overrides, others),
    image=images,
    volume_backed=st.booleans(),
    pinning=st.booleans(),
)
def test_nova_and_trueup_request_the_same_for_any_flavor_and_image(
    size, specs, image, volume_backed, pinning
):
    how = {"volume_backed": volume_backed, "pinning": pinning}
    theirs = asked_by_nova(size, specs, image, **how)
    found = flavor_groups(flavor_of(size, specs), image, **how)
    if theirs is None:
        return  # what Nova refuses never was scheduled
    assert not isinstance(found, Unknown), found
    assert {group.suffix: dict(group.amounts) for group in found} == theirs


@MANY
@given(
    size=sizes,
    specs=st.builds(lambda *some: {**some[0], **some[1], **some[2]}, overrides, traits, of_flavors),
    image=st.builds(lambda one, two: one | two, images, of_images),
    volume_backed=st.booleans(),
)
def test_nova_and_trueup_ask_placement_the_same_for_any_flavor_and_image(
    size, specs, image, volume_backed
):
    image = ENCRYPTABLE | image
    spec = spec_of(size, specs, image, volume_backed)
    spec.root_forbidden.add("COMPUTE_STATUS_DISABLED")
    found = candidate_query(flavor_of(size, specs), image, volume_backed=volume_backed)
    try:
        request = ResourceRequest.from_request_spec(spec)
    except (exception.NovaException, ValueError):
        return  # Nova refuses it before it asks
    request._limit = None
    assert not isinstance(found, Unknown), found
    theirs = parse_qsl(request.to_querystring(), keep_blank_values=True)
    assert parse_qsl(found, keep_blank_values=True) == theirs
