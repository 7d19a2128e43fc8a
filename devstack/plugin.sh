#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# devstack/plugin.sh - Trueup in the place of OpenStack Placement
#
# In local.conf:
#   [[local|localrc]]
#   enable_plugin trueup URL-OF-THE-REPOSITORY [BRANCH]
#
# DevStack installs and configures Placement, syncs its database and starts it, as ever. In between, this
# replaces its package; scripts and modules keep their names.

# pip_uninstall knows no GLOBAL_VENV, where pip_install installs, but takes PIP_VIRTUAL_ENV.
function trueup_uninstall {
    local environment=${PIP_VIRTUAL_ENV:-}
    if [[ "${GLOBAL_VENV:-False}" == "True" ]]; then
        environment=$DEVSTACK_VENV
    fi
    PIP_VIRTUAL_ENV=$environment pip_uninstall $1
}

# setup_install reads the name of a package from setup.cfg, which Trueup does not have.
function trueup_install {
    echo_summary "Putting Trueup in Placement's place"
    trueup_uninstall openstack-placement
    local names=$TRUEUP_DIR/packaging/placement-names
    pip_install "$TRUEUP_DIR[$TRUEUP_EXTRAS]" $names
}

# What it finds is shown; stack.sh has done its work all the same.
function trueup_audit {
    local code=0
    echo_summary "Comparing Placement with Nova: trueup audit"
    $PLACEMENT_BIN_DIR/trueup audit --nova-conf $NOVA_CONF || code=$?
    echo_summary "trueup audit ended with return code $code"
}

if is_service_enabled placement-api; then
    if [[ "$1" == "stack" && "$2" == "install" ]]; then
        trueup_install
    elif [[ "$1" == "stack" && "$2" == "test-config" ]]; then
        if [[ "$TRUEUP_AUDIT" == "True" ]] && is_service_enabled n-api; then
            trueup_audit
        fi
    elif [[ "$1" == "unstack" ]]; then
        # The next stack.sh may be without this plugin.
        trueup_uninstall trueup-placement-names
    fi
fi
