# SPDX-License-Identifier: Apache-2.0
"""The body of POST /reshaper: inventories and allocations together."""

from trueup.model.allocations import ConsumerAllocations
from trueup.placement.api.http import Request
from trueup.placement.api.wire import allocations, inventories
from trueup.placement.api.wire.schema import UUID_PATTERN, Checked, Field, Object, map_of
from trueup.placement.transactions.reshaper import WantedInventories

POST_RESHAPE = Checked(
    Object(
        Field(
            "inventories",
            map_of(UUID_PATTERN, inventories.ALL_INVENTORIES, minProperties=1),
            required=True,
        ),
        Field(
            "allocations",
            map_of(UUID_PATTERN, allocations.BY_CONSUMER, minProperties=0),
            required=True,
        ),
    )
)


def parse(request: Request) -> tuple[list[WantedInventories], list[ConsumerAllocations]]:
    """The body of POST /reshaper. Raises Refused."""
    given = POST_RESHAPE.parse(request)
    wanted = [
        WantedInventories(
            provider_uuid=uuid,
            expected_generation=stock["resource_provider_generation"],
            inventories=inventories.all_from_wire(stock["inventories"]),
        )
        for uuid, stock in given["inventories"].items()
    ]
    held = allocations.all_from_wire(given["allocations"], request.version, request.settings)
    return wanted, held
