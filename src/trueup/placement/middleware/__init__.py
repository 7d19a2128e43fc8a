# SPDX-License-Identifier: Apache-2.0
"""What stands around the API: each a WSGI application around another, without knowing which."""
