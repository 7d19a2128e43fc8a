# SPDX-License-Identifier: Apache-2.0
"""One file for each revision of upstream's schema; Alembic finds them by their ids."""
