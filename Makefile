# Two commands do everything: `make demo` and `make test`. CONTRIBUTING.md explains the others.

PYTHON ?= python3
# The CPU build of PyTorch is enough. Where the package index offers only the large one, name the
# index with the CPU wheels: make install TORCH_INDEX=<url>
TORCH ?= torch==2.13.0
TORCH_INDEX ?=
VENV := .venv
BIN := $(VENV)/bin
export HF_HUB_OFFLINE := 1

.PHONY: install demo test deploy-tools deploy-test requirements stack check clean

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

# promtool and podman are in no Python package; on Debian root gets them from the distribution.
deploy-tools:
	@command -v promtool > /dev/null && command -v podman > /dev/null || \
		apt-get update > /dev/null 2>&1 || true
	@command -v promtool > /dev/null || \
		apt-get install -y --no-install-recommends prometheus prometheus-alertmanager > /dev/null 2>&1 || \
		echo "Prometheus cannot be installed here: rules, dashboard and alerts are not tried"
	@command -v podman > /dev/null && command -v mmdebstrap > /dev/null || \
		apt-get install -y --no-install-recommends podman runc catatonit mmdebstrap > /dev/null 2>&1 || \
		echo "podman cannot be installed here: the image is not built"

# What needs more than the product's own environment: kubectl, schemas of Kubernetes, hadolint,
# Prometheus and podman. The base of the image and its wheels are kept in var/image.
deploy-test: install deploy-tools var/checkov/.installed
	$(BIN)/python -m pip install --quiet --group deploy
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n 2 tests/deploy
	$(BIN)/python -m pytest -m container tests/deploy
	$(BIN)/python deploy/stack/stack.py --check

# checkov in an environment of its own: what it needs does not fit the product's.
var/checkov/.installed:
	$(PYTHON) -m venv var/checkov
	var/checkov/bin/python -m pip install --quiet checkov==3.3.30
	touch $@

# The pinned requirements of the image, after a change of dependencies.
requirements: install
	$(BIN)/python -m pip install --quiet --group deploy
	$(BIN)/python deploy/pin.py

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
