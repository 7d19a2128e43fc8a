# SPDX-License-Identifier: Apache-2.0
"""Every image property that Nova knows, set to each value it can have: those that are not read
change nothing of the amounts that its scheduler asks for, also not by way of its prefilters.

The prefilters that are left out look into its databases, and choose among hosts by aggregate.
"""

from collections.abc import Iterator

import pytest
from nova import context, exception, objects
from nova.conf import CONF
from nova.objects.fields import BaseEnumField, UUIDField
from nova.scheduler import request_filter
from nova.scheduler.utils import ResourceRequest

from trueup.reconcile.sources.nova.instance_rows import IMAGE_PREFIX
from trueup.reconcile.sources.nova.tables import IMAGE_PROPERTIES

objects.register_all()
EVERY = sorted(objects.ImageMetaProps.fields)
# Nova keeps `trait:X` one by one, and this is the list that it makes of them.
READ = [
    name for name in EVERY
    if f"{IMAGE_PREFIX}{name}".startswith(IMAGE_PROPERTIES) or name == "traits_required"
]  # fmt: skip
UNREAD = [name for name in EVERY if name not in READ]
SIZES = {"vcpus": 4, "memory_mb": 256, "root_gb": 4, "ephemeral_gb": 1, "swap": 512}
FLAVORS = {
    "plain": {},
    "pinned": {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
    "real time": {"hw:cpu_policy": "mixed", "hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"},
    "encrypted": {"hw:mem_encryption": "true", "hw:tpm_version": "2.0", "hw:pmem": "6GB"},
}
ENCRYPTABLE = {"hw_firmware_type": "uefi", "hw_machine_type": "q35"}
# The prefilters that look into no database.
FILTERS = (
    request_filter.require_image_type_support,
    request_filter.transform_image_metadata,
    request_filter.compute_status_filter,
    request_filter.accelerators_filter,
    request_filter.packed_virtqueue_filter,
    request_filter.remote_managed_ports_filter,
    request_filter.ephemeral_encryption_filter,
    request_filter.virtio_sound_filter,
    request_filter.tpm_secret_security_filter,
)


@pytest.fixture(autouse=True)
def _every_filter() -> Iterator[None]:
    for name in ("image_metadata_prefilter", "query_placement_for_image_type_support"):
        CONF.set_override(name, True, group="scheduler")
    yield
    CONF.clear_override("image_metadata_prefilter", group="scheduler")
    CONF.clear_override("query_placement_for_image_type_support", group="scheduler")


def asked(extra_specs: dict[str, str], image: dict[str, str]) -> dict[str, dict[str, int]] | None:
    """The amounts of each group; None where Nova refuses the image."""
    try:
        spec = objects.RequestSpec(
            context=context.get_admin_context(),
            flavor=objects.Flavor(name="a-flavor", extra_specs=dict(extra_specs), **SIZES),
            image=objects.ImageMeta(
                id="9bd2f7a5-7f7c-4a4b-8f0b-6f5f0c3c2f11",
                name="an-image",
                disk_format="qcow2",
                properties=objects.ImageMetaProps.from_dict(ENCRYPTABLE | image),
            ),
            is_bfv=False,
            requested_resources=[],
            request_level_params=objects.RequestLevelParams(),
        )
        for one in FILTERS:
            one(spec._context, spec)
        found = ResourceRequest.from_request_spec(spec)
    except (exception.NovaException, ValueError):
        return None
    return {suffix: dict(group.resources) for suffix, group in found._rg_by_id.items()}


def values_of(name: str) -> list[str]:
    field = objects.ImageMetaProps.fields[name]
    if isinstance(field, BaseEnumField):
        return [str(value) for value in field._type.valid_values]
    if isinstance(field, UUIDField):
        return ["9bd2f7a5-7f7c-4a4b-8f0b-6f5f0c3c2f11"]
    return ["true", "1", "4", "^0", "large", "q35", "0-1"]


@pytest.mark.parametrize("flavor", FLAVORS)
def test_properties_that_are_not_read_do_not_change_the_request(flavor):
    plain = asked(FLAVORS[flavor], {})
    assert plain
    for name in UNREAD:
        for value in values_of(name):
            assert asked(FLAVORS[flavor], {name: value}) in (plain, None), (name, value)


def test_properties_that_are_read_change_the_request():
    """This shows that the test above can fail."""
    changed = {
        name
        for name in READ
        for value in values_of(name)
        for specs in FLAVORS.values()
        if asked(specs, {name: value}) not in (asked(specs, {}), None)
    }
    assert changed == {"hw_cpu_policy", "hw_cpu_realtime_mask", "hw_mem_encryption"}
