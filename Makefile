# `make help` says what there is.

PYTHON ?= $(shell command -v python3.13 || command -v python3.12 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
AGENT ?= analyst

.DEFAULT_GOAL := help
.PHONY: help install demo test check format lint types imports templates e2e build bench lock clean

help: ## Shows this.
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-10s %s\n", $$1, $$2 }'

install: $(VENV)/.ready ## Makes the virtual environment .venv with everything for development in it.

$(VENV)/.ready: pyproject.toml infra/dev-requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 12))' || \
		{ echo "agentfn needs Python 3.12 or later; $(PYTHON) is older. Try: make PYTHON=/path/to/python3.13 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint infra/dev-requirements.txt --editable '.[dev]'
	@touch $@

demo: $(VENV)/.ready ## Runs the analyst here on sample data, no account needed; the report goes to demo-output/.
	@$(BIN)/agentfn demo functions/analyst --file functions/analyst/data/penguins.csv --output demo-output \
		--question "How many penguins of each species are there, and how does mean body mass differ by species and sex? Chart it and write a report."

test: $(VENV)/.ready ## Runs all tests that need no network, no account and no emulator.
	@$(BIN)/python -m pytest

check: format lint types imports templates ## Everything that must hold before a change lands: all of the above, and the tests with coverage.
	@$(BIN)/python -m pytest --cov --cov-report=term

format: $(VENV)/.ready
	@$(BIN)/ruff format --check .

lint: $(VENV)/.ready
	@$(BIN)/ruff check .

types: $(VENV)/.ready
	@$(BIN)/mypy

imports: $(VENV)/.ready
	@$(BIN)/lint-imports --no-cache > .importlinter.log || { cat .importlinter.log; exit 1; }
	@rm -f .importlinter.log

templates: $(VENV)/.ready
	@$(BIN)/cfn-lint template.yaml infra/*.yaml

clean: ## Removes what was made, the virtual environments too.
	rm -rf .venv .venv-* .aws-sam .e2e demo-output .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
