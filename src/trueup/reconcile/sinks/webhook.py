# SPDX-License-Identifier: Apache-2.0
"""A webhook: each message is one POST, signed as Standard Webhooks says where there is a secret."""

import base64
import hashlib
import hmac
import time
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import IO
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from trueup.reconcile.sinks.message import Message, in_time

# For each part of an answer, and for all of it.
ANSWER_SECONDS, WHOLE_SECONDS = 10.0, 20.0


class _NoRedirects(HTTPRedirectHandler):
    """The library follows a redirected POST with a GET: the message would be lost silently."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: object, newurl: str
    ) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL. The proxy and the authorities of certificates are those of the environment."""

    url: str
    secret: bytes = field(default=b"", repr=False)

    def carry(self, message: Message, line: bytes) -> str:
        """POST it. It failed if the answer is not 2xx."""
        headers = {"content-type": "application/json", "user-agent": "trueup"}
        headers |= signed(message.id, int(time.time()), line, self.secret)
        request = Request(self.url, line, headers, method="POST")
        return in_time(lambda: _posted(request), WHOLE_SECONDS)


def _posted(request: Request) -> str:
    """Why it was not taken; empty if it was."""
    try:
        with build_opener(_NoRedirects).open(request, timeout=ANSWER_SECONDS):
            return ""
    except HTTPError as error:
        with error:
            return f"it answered {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        return str(getattr(error, "reason", error))


def signed(name: str, at: int, body: bytes, secret: bytes) -> dict[str, str]:
    """The headers of Standard Webhooks; without a secret, those that need none."""
    headers = {"webhook-id": name, "webhook-timestamp": str(at)}
    if secret:
        content = b".".join((name.encode(), str(at).encode(), body))
        digest = hmac.new(secret, content, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return headers
