# SPDX-License-Identifier: Apache-2.0
import pytest
import requests

from trueup.capacity.in_ledger import fits
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.page.serving import ListenAt, NotLoopback, serving
from trueup.placement.why import LedgerAway
from trueup.web.errors import AddressUnusable


def test_only_a_name_of_the_loopback_interface_is_answered(site_url):
    assert requests.get(site_url, timeout=30).status_code == 200
    stranger = requests.get(site_url, headers={"Host": "evil.example"}, timeout=30)
    assert (stranger.status_code, "provider" in stranger.text.lower()) == (421, False)


def test_an_address_of_the_network_needs_a_word(ledger_url):
    with pytest.raises(NotLoopback), serving((), ledger_url, ListenAt("0.0.0.0", 0), fits):
        pass
    with serving((), ledger_url, ListenAt("0.0.0.0", 0, insecure=True), fits) as port:
        elsewhere = {"Host": "ledger.example"}
        answer = requests.get(f"http://127.0.0.1:{port}/", headers=elsewhere, timeout=30)
        assert answer.status_code == 200


@pytest.mark.parametrize("host", ["localhost", "::1"])
def test_other_names_of_loopback_are_served(ledger_url, host):
    with serving((), ledger_url, ListenAt(host, 0), fits) as port:
        netloc = f"[{host}]" if ":" in host else host
        assert requests.get(f"http://{netloc}:{port}/", timeout=30).status_code == 200


def test_an_unusable_address_is_refused_before_it_listens(ledger_url, tmp_path):
    at = ListenAt("127.0.0.1", 0)
    with pytest.raises(ConfigurationUnusable), serving((), f"sqlite:///{tmp_path / 'x'}", at, fits):
        pass
    with pytest.raises(LedgerAway), serving((), "mysql+pymysql://x@127.0.0.1:1/p", at, fits):
        pass
    nowhere = ListenAt("no.such.host.invalid", 0)
    with pytest.raises(AddressUnusable), serving((), ledger_url, nowhere, fits):
        pass
