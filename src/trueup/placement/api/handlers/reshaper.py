# SPDX-License-Identifier: Apache-2.0
"""/reshaper"""

from trueup.placement import transactions
from trueup.placement.api.http import NO_CONTENT, Answer, Request
from trueup.placement.api.wire import reshaper as wire


def post_reshape(request: Request) -> Answer:
    inventories, allocations = wire.parse(request)
    transactions.reshaper.reshape(request.database, inventories, allocations)
    return NO_CONTENT
