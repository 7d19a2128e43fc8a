# SPDX-License-Identifier: Apache-2.0
from trueup.lab.wsgi import call, environ_for


class _Body:
    closed = False

    def __iter__(self):
        return iter((b"two ", b"parts"))

    def close(self):
        self.closed = True


def test_an_answer_is_read_whole_and_closed():
    body = _Body()

    def application(environ, start_response):
        start_response("200 OK", [("X-Path", environ["PATH_INFO"])])(b"written, ")
        return body

    answer = call(application, environ_for("GET", ("/a", ""), b""))
    assert (answer.code, answer.headers) == (200, (("X-Path", "/a"),))
    assert answer.body == b"written, two parts"
    assert body.closed
