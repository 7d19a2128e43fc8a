# SPDX-License-Identifier: Apache-2.0
from tests.placement.client import Client


def test_the_root_says_which_versions_there_are(client: Client) -> None:
    (version,) = client.get("/", version=None).json["versions"]
    assert (version["min_version"], version["max_version"]) == ("1.0", "1.39")
    assert version["status"] == "CURRENT"
