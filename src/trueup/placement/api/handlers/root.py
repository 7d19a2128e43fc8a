# SPDX-License-Identifier: Apache-2.0
"""GET /: the versions of the service, for everyone."""

from trueup.placement.api.http import Answer, Request, utc_now
from trueup.placement.api.versions import NEWEST, OLDEST


def get_root(request: Request) -> Answer:
    version = {
        "id": f"v{OLDEST}",
        "max_version": str(NEWEST),
        "min_version": str(OLDEST),
        "status": "CURRENT",
        # Relative, so that the service need not know its own URL.
        "links": [{"rel": "self", "href": ""}],
    }
    return request.answer({"versions": [version]}, utc_now())
