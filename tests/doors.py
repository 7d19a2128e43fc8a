# SPDX-License-Identifier: Apache-2.0
"""Doors: the modules that may import a library. Every other module goes through them."""

DOORS = {
    "alembic": ("trueup.placement.store", "trueup.placement.manage"),
    "cliff": ("trueup.cli", "trueup.placement.manage"),
    "falcon": ("trueup.placement.api", "trueup.placement.app"),
    "fastjsonschema": ("trueup.placement.api.wire",),
    "http.server": ("trueup.web.listening",),
    "jinja2": ("trueup.web.templates",),
    "jsonschema": ("trueup.placement.api.wire",),
    "keystoneauth1": ("trueup.reconcile.sources", "trueup.placement.middleware.keystone"),
    "keystonemiddleware": ("trueup.placement.middleware.keystone",),
    "libvirt": ("trueup.reconcile.sources.libvirt",),
    "markupsafe": ("trueup.web.templates",),
    "microversion_parse": ("trueup.placement.api.versions",),
    "numpy": ("trueup.placement.index", "trueup.placement.why", "trueup.capacity"),
    "openstack": ("trueup.reconcile.sources",),
    "os_resource_classes": ("trueup.placement.store", "trueup.model.names"),
    "os_traits": ("trueup.placement.store", "trueup.model.names"),
    "oslo_config": (
        "trueup.placement.config",
        "trueup.placement.options",
        "trueup.reconcile.sources.connect",
    ),
    "oslo_context": (
        "trueup.placement.api.access",
        "trueup.placement.api.request_ids",
        "trueup.placement.request_log",
    ),
    "oslo_middleware": (
        "trueup.placement.app",
        "trueup.placement.health",
        "trueup.placement.options",
        "trueup.placement.middleware.origins",
    ),
    "oslo_policy": (
        "trueup.placement.api.access",
        "trueup.placement.api.policies",
        "trueup.placement.config",  # registers the library's own options
        "trueup.placement.options",
    ),
    "osprofiler": (
        "trueup.placement.middleware.tracing",
        "trueup.placement.store.engine.reporting",
    ),
    "oslo_utils": ("trueup.placement.api.wire", "trueup.placement.store"),
    "platformdirs": ("trueup.cli.terminal.state",),
    "prometheus_client": ("trueup.placement.metrics", "trueup.reconcile.watch.metrics"),
    "rich": ("trueup.cli",),
    "sqlalchemy": ("trueup.lab", "trueup.placement.store", "trueup.reconcile.sources"),
    "webob": (
        "trueup.placement.api.accept",
        "trueup.placement.middleware.keystone",
        "trueup.placement.middleware.origins",
    ),
    "werkzeug": ("trueup.lab",),
}
