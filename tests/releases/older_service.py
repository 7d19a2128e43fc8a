# SPDX-License-Identifier: Apache-2.0
"""Serves upstream's Placement of the environment that runs this file: PORT, and configuration.

It runs in old releases of Python, with nothing beside openstack-placement.
"""

import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from placement import wsgi


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


port = int(sys.argv.pop())
make_server("127.0.0.1", port, wsgi.init_application(), Server, Quiet).serve_forever()
