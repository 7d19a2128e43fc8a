# SPDX-License-Identifier: Apache-2.0
"""`placement.wsgi.api:application`, built as the module is imported.

PARITY: a configuration that cannot be used keeps the server from starting. No connection to the
database is left open, so a server may fork afterwards.
"""

from trueup.placement.worker import application_or_exit

application = application_or_exit()
