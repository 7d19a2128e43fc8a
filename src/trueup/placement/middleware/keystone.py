# SPDX-License-Identifier: Apache-2.0
"""Validates tokens with keystonemiddleware, whose import takes a third of a second."""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any

GROUP = "keystone_authtoken"

ANSWER_SECONDS = 10
"""The default of http_connect_timeout. Without one, requests wait as long as Keystone is silent."""

_UNAVAILABLE = "The Keystone service is temporarily unavailable."
"""The words of keystonemiddleware."""

_log = logging.getLogger(__name__)


class CredentialsUnusable(Exception):
    """An option is missing, or has a value that cannot be used; the text says which."""


def guard(api: Any, source: Any, open_paths: Collection[str]) -> Any:
    """The application behind keystonemiddleware, except for these paths.

    Raises CredentialsUnusable.
    """
    from keystoneauth1 import exceptions, loading
    from keystonemiddleware import auth_token
    from keystonemiddleware.exceptions import ConfigurationError

    loading.register_auth_conf_options(source, GROUP)
    # auth_type is now an option of the section that auth_section names.
    section = source[GROUP].auth_section or GROUP
    if not source[section].auth_type:
        raise CredentialsUnusable(
            f"auth_strategy = keystone needs the section [{section}], with auth_type and the "
            "credentials of the service"
        )
    for group, options in auth_token.list_opts():
        source.register_opts(options, group)
    source.set_default("http_connect_timeout", ANSWER_SECONDS, GROUP)
    try:
        guarded = auth_token.AuthProtocol(api, {"oslo_config_config": source})
    except exceptions.AuthPluginException as error:
        raise _unusable(section, error) from error
    # keystoneauth raises a TypeError for an auth_version that is none.
    except (ConfigurationError, TypeError) as error:
        raise CredentialsUnusable(f"[{GROUP}] cannot be used: {error}") from error
    _answer_whatever_keystone_says(guarded)

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        is_open = environ.get("PATH_INFO", "") in open_paths
        return (api if is_open else guarded)(environ, start_response)

    return application


def _answer_whatever_keystone_says(guarded: Any) -> None:
    """Answer 503 for whatever a broken Keystone says.

    keystonemiddleware handles some errors only. When Keystone is silent while it validates a token,
    or a proxy answers for it, the error would reach the web server: uWSGI then closes the
    connection without an answer.
    """
    from webob.exc import HTTPException, HTTPServiceUnavailable

    validate = guarded.process_request

    def process_request(request: Any) -> Any:
        try:
            return validate(request)
        except HTTPException:
            raise
        except Exception as error:
            _log.exception("Keystone's answer cannot be used: %s", error)
            raise HTTPServiceUnavailable(_UNAVAILABLE) from error

    guarded.process_request = process_request


def register(source: Any, given: Mapping[str, Any]) -> None:
    """Register the options of the middleware and of its authentication plugin.

    The middleware registers them itself for files; options from a mapping need it earlier.
    Raises CredentialsUnusable.
    """
    from keystoneauth1 import exceptions, loading
    from keystonemiddleware import auth_token

    for group, options in auth_token.list_opts():
        source.register_opts(options, group)
    auth_type = given.get("auth_type")
    if auth_type is None:
        return
    try:
        options = loading.get_auth_plugin_conf_options(auth_type)
    except exceptions.NoMatchingPlugin as error:
        raise _unusable(GROUP, error) from error
    source.register_opts(options, GROUP)


def _unusable(section: str, error: Exception) -> CredentialsUnusable:
    return CredentialsUnusable(f"[{section}] cannot be used, look at auth_type: {error}")
