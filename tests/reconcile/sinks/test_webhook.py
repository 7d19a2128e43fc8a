# SPDX-License-Identifier: Apache-2.0
"""What a web server gets, and who can check that it is from us."""

import base64
import hashlib
import hmac
import socket
import time
from threading import Thread

import pytest

from tests.reconcile.sinks.receivers import Posted, message, web_server
from trueup.reconcile.sinks import sink_of, webhook
from trueup.reconcile.sinks.webhook import signed

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_a_body_is_signed_as_standard_webhooks_say():
    """Their own example: the specification prints its secret, its body and its signature."""
    body = b'{"test": 2432232314}'
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    headers = signed("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, key)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_it_gets_the_message_with_its_signature():
    posted = Posted()
    with web_server(posted) as port:
        sink = sink_of(f"http://127.0.0.1:{port}/hooks/a-token", SECRET)
        assert sink.send(message()) == ""
    assert sink.name == f"http://127.0.0.1:{port}", "the path may be a password"
    [body], [headers] = posted.bodies, posted.headers
    assert (body, headers["content-type"]) == (b'{"\\u00e9": 1}', "application/json")
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    mine = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{mine}"


def test_without_a_secret_nothing_is_signed():
    posted = Posted()
    with web_server(posted) as port:
        assert sink_of(f"http://127.0.0.1:{port}/").send(message()) == ""
    assert "webhook-signature" not in posted.headers[0]


@pytest.mark.parametrize("status", [301, 302, 307, 400, 503])
def test_any_answer_but_success_is_a_failure_and_no_redirect_is_followed(status):
    posted = Posted([status])
    with web_server(posted) as port:
        assert sink_of(f"http://127.0.0.1:{port}/").send(message()) == f"it answered {status}"
    assert len(posted.bodies) == 1


def test_a_server_that_is_not_there_is_told():
    with web_server(Posted()) as port:
        pass
    assert "refused" in sink_of(f"http://127.0.0.1:{port}/").send(message())


def test_a_server_that_never_ends_its_answer_does_not_hold_up_a_run(monkeypatch):
    """Each byte comes in time, and the answer never ends."""
    monkeypatch.setattr(webhook, "WHOLE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                try:
                    while True:
                        connection.sendall(b"H")
                        time.sleep(0.01)
                except OSError:
                    return

        Thread(target=drip, daemon=True).start()
        port = server.getsockname()[1]
        assert "no whole answer" in sink_of(f"http://127.0.0.1:{port}/").send(message())
