# SPDX-License-Identifier: Apache-2.0
"""trueup why --flavor: the query that Nova's scheduler makes of a flavor and an image."""

from trueup.reconcile.expected import Unknown, candidate_query
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.sources.connect import flavors_and_images
from trueup.reconcile.sources.glance import read_image
from trueup.reconcile.sources.nova.flavors import read_flavor


class FlavorRefused(Exception):
    """Nova would refuse a server with this flavor and image; the text says why."""


def query_of_flavor(
    flavor: str, image: str | None, cloud_name: str | None, *, volume_backed: bool
) -> str:
    """The query for a flavor and an image of a cloud, each by id or name.

    Raises FlavorRefused and CloudError.
    """
    compute, images = flavors_and_images(cloud_name)
    found = candidate_query(
        read_flavor(compute, flavor),
        read_image(images, image) if image else {},
        volume_backed=volume_backed,
    )
    if isinstance(found, Unknown):
        raise FlavorRefused(
            f"Nova refuses a server with this flavor and image: {in_words(found.reason)}"
        )
    return found
