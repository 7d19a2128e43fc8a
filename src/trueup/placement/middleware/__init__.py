# SPDX-License-Identifier: Apache-2.0
"""Middleware around the API: each wraps any WSGI application."""
