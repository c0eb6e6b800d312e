# `make help` lists the targets.

PYTHON ?= $(shell command -v python3.13 || command -v python3.12 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
AGENT := analyst
MARKS := not slow
SAMPLES_analyst := penguins.csv
SAMPLES_librarian := packet.pdf library-memo.docx notice.html
QUESTION_analyst := How many penguins of each species are there, and how does mean body mass differ by species and sex? \
	Chart it and write a report.
QUESTION_librarian := How did the planning board vote on the rezoning of Mill Street?
QUESTION = $(QUESTION_$(AGENT))

.DEFAULT_GOAL := help
.PHONY: help install demo test check static format lint types imports templates e2e conformance chaos build bench \
	bench-cold bench-size mutants lock sam emulator testbed clean

help: ## Lists these targets.
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-11s %s\n", $$1, $$2 }'

install: $(VENV)/.ready ## Creates the virtual environment .venv with the development dependencies.

$(VENV)/.ready: pyproject.toml infra/dev-requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' || \
		{ echo "agentfn needs Python 3.12 or later. Try: make PYTHON=/path/to/python3.13 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV), once ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint infra/dev-requirements.txt --editable '.[dev]'
	@touch $@

demo: $(VENV)/.ready ## Runs the analyst (or AGENT=librarian) on sample data, without an AWS account. Results are in demo-output/.
	@$(BIN)/agentfn demo functions/$(AGENT) $(SAMPLES_$(AGENT):%=--file functions/$(AGENT)/data/%) --question "$(QUESTION)"

test: $(VENV)/.ready ## Runs the tests that need no network, account or emulator, except the slow ones.
	@$(BIN)/python -m pytest -n 3 --dist loadfile -m "$(MARKS)" $(PYTEST)

check: static ## Runs all checks of a change: format, lint, types, imports, templates, all tests with coverage.
	@$(MAKE) --no-print-directory test MARKS= PYTEST="--cov --cov-report=term"

static: format lint types imports templates

format: $(VENV)/.ready
	@$(BIN)/ruff format --check .

lint: $(VENV)/.ready
	@$(BIN)/ruff check .

types: $(VENV)/.ready
	@$(BIN)/mypy
	@$(BIN)/mypy functions/librarian/app.py

imports: $(VENV)/.ready
	@$(BIN)/lint-imports --no-cache --no-logo

templates: $(VENV)/.ready
	@$(BIN)/cfn-lint template.yaml infra/storage.yaml infra/agent.yaml

e2e: $(VENV)/.ready sam emulator ## Deploys to an AWS emulator on this machine and tests the agents over HTTP.
	@$(BIN)/python -m pytest tests/e2e -o addopts= -o timeout=1200 -v --import-mode=importlib

conformance: $(VENV)/.ready testbed ## Runs A2A's conformance suites and three client libraries against the test agent. Needs Node.js 20.
	@$(BIN)/python -m pytest tests/conformance/all_suites.py -o addopts= -o timeout=600 -v --import-mode=importlib

chaos: $(VENV)/.ready ## Kills, freezes and slows down processes during a thousand tasks; checks that no task is lost. About 15 minutes.
	@PYTHONPATH=tests $(BIN)/python -m chaos --tasks 1000 --faults 1000

build: sam ## Builds the Lambda packages with the AWS SAM CLI, into .aws-sam/.
	@.venv-sam/bin/sam build
	@cat .aws-sam/packages/*.txt

bench: $(VENV)/.ready ## Measures the cost of a step and a task, the overhead over a bare loop, the pause between two runs, and the loops of other frameworks.
	@$(BIN)/python benchmarks/costs.py
	@$(BIN)/python benchmarks/overhead.py
	@$(BIN)/python benchmarks/resume.py
	@$(BIN)/python benchmarks/loops.py

bench-cold: $(VENV)/.ready ## Compares cold starts with other frameworks, which it installs once. About 15 minutes.
	@$(BIN)/python benchmarks/cold.py

bench-size: $(VENV)/.ready ## Compares package sizes with other frameworks' environments. About five minutes.
	@$(BIN)/python benchmarks/size.py

mutants: $(VENV)/.ready ## Removes one mechanism at a time and shows which test fails. About two minutes.
	@$(BIN)/python tests/durability/mutations.py

lock: $(VENV)/.ready ## Updates the files of pinned versions, and the price list from litellm.
	@$(BIN)/pip-compile --quiet --extra dev --strip-extras --no-annotate --no-header --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --output-file infra/dev-requirements.txt pyproject.toml
	@sed -i '/^agentfn @/d' infra/dev-requirements.txt
	@CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/pip-compile --quiet --extra analyst --extra litellm --strip-extras --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --output-file functions/analyst/requirements.txt pyproject.toml
	@CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/pip-compile --quiet --extra librarian --extra litellm --strip-extras --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --output-file functions/librarian/requirements.txt pyproject.toml
	@CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-emit-trusted-host --output-file tests/e2e/agents/steps/requirements.txt pyproject.toml
	@$(BIN)/python infra/prices.py

sam:
	@$(PYTHON) infra/tools.py sam

emulator:
	@$(PYTHON) infra/tools.py emulator

testbed:
	@$(PYTHON) infra/tools.py testbed old-client js-client

clean: ## Removes all generated files, including the virtual environments.
	rm -rf .venv .venv-* .aws-sam .e2e tests/conformance/clients/js/node_modules demo-output .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
