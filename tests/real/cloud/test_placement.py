# SPDX-License-Identifier: Apache-2.0
"""Our service is started with the uWSGI file of the page, so that the page is what is proven."""

from tests.real.cloud.placement import documented_uwsgi_file


def test_the_page_shows_a_whole_uwsgi_file():
    lines = documented_uwsgi_file().splitlines()
    assert lines[0] == "[uwsgi]"
    assert {"module = trueup.wsgi:application", "add-header = Connection: close"} <= set(lines)


def test_the_socket_of_the_page_is_left_out():
    assert "socket" not in documented_uwsgi_file()
