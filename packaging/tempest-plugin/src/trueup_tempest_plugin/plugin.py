# SPDX-License-Identifier: Apache-2.0
"""What Tempest calls."""

from pathlib import Path

from oslo_config import cfg
from tempest.test_discover import plugins

from trueup_tempest_plugin import classes
from trueup_tempest_plugin.options import GROUP, OPTIONS


class TrueupPlugin(plugins.TempestPlugin):
    def load_tests(self) -> tuple[str, str]:
        """The folder of our own tests, and the one that names of modules begin at.

        Each worker of a run calls it, and nothing else does: so this is where audits begin.
        """
        classes.audit_each()
        package = Path(__file__).parent
        return str(package / "tests"), str(package.parent)

    def register_opts(self, conf: cfg.ConfigOpts) -> None:
        conf.register_group(GROUP)
        conf.register_opts(OPTIONS, GROUP)

    def get_opt_lists(self) -> list[tuple[str, list[cfg.Opt]]]:
        return [(GROUP.name, OPTIONS)]
