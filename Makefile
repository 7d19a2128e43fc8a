# SPDX-License-Identifier: Apache-2.0
# `make demo` shows the main job, `make test` runs the suite; each does its own set-up, once.

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test lint conformance bench clean

help:  ## say what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.ready-all  ## find, plan, repair and undo drift on a small embedded cloud
	@$(BIN)/trueup demo

test: lint  ## lint, types, layers and all tests, with every database server that is there
	@$(BIN)/pytest -n $(WORKERS) -q

lint: $(VENV)/.ready-test  ## format, lint, types and layers only
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --config .importlinter > $(VENV)/layers.log || { cat $(VENV)/layers.log; exit 1; }

conformance: $(VENV)/.ready-test  ## the long way: many more generated requests, and thousands of rounds
	@TRUEUP_EXAMPLES=500 TRUEUP_ROUNDS=2000 TRUEUP_FUZZ_EXAMPLES=500 \
		$(BIN)/pytest -n $(WORKERS) -q --timeout 7200 tests/differential tests/fuzz \
		tests/placement/index/search/test_candidates.py tests/placement/index/test_current.py

bench: $(VENV)/.ready-test  ## Trueup and upstream side by side, in one run
	@$(BIN)/python -m bench --database mariadb

clean:  ## remove the environment and what the tools left
	rm -rf $(VENV) build src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.ready-%: pyproject.toml constraints.txt
	@tools/environment $(VENV) $*
