# SPDX-License-Identifier: Apache-2.0
"""The Placement service for WSGI servers: `trueup.wsgi:application`.

It is built as the module is imported, so that a configuration that cannot be used keeps the server
from starting.
"""

from trueup.placement.worker import application_or_exit

application = application_or_exit()
