# SPDX-License-Identifier: Apache-2.0
"""Rows of `request_specs` → facts."""

from collections.abc import Mapping
from typing import Any

from trueup.reconcile.facts import Flavor, RequestSpec
from trueup.reconcile.sources.database import Row
from trueup.reconcile.sources.nova.instance_rows import flavor_of
from trueup.reconcile.sources.reading import Reader


def request_spec(reader: Reader, row: Row) -> RequestSpec:
    """A row of `request_specs`. Values that cannot be understood are noted."""
    uuid = reader.uuid(row, "instance_uuid")
    document = reader.document(row, "spec")
    fields = document.get("nova_object.data") if isinstance(document, dict) else None
    if not isinstance(fields, dict):
        if document is not None:
            reader.note(row, "spec", "it is not the JSON of a request spec")
        return RequestSpec(uuid)
    # Before Ocata a request spec did not contain it.
    by_volume = fields.get("is_bfv")
    return RequestSpec(
        uuid,
        flavor=_flavor(reader, row, fields),
        volume_backed=by_volume if isinstance(by_volume, bool) else None,
    )


def _flavor(reader: Reader, row: Row, fields: Mapping[str, Any]) -> Flavor | None:
    try:
        return flavor_of(fields["flavor"])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        reader.note(row, "spec", f"it has no flavor ({type(error).__name__}: {error})")
        return None
