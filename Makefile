# Everything a developer does with sstool; `make help` lists it.
#
# RocksDB comes as one prebuilt shared library: build/native fetches it once
# with Maven and keeps it in the user's cache folder. ROCKSDB_DIR=/path uses
# another one, with include/rocksdb/c.h and lib/librocksdb.so below it.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO       ?= go
BIN      ?= bin
FUZZTIME ?= 10s
BENCH    ?= .
# What a package's tests may take: with the race detector on a busy machine of two
# cores cmd's need most of go test's ten minutes.
PATIENCE ?= 45m
VERSION  ?= $(shell git describe --tags --dirty 2>/dev/null || echo 0.1.0-dev)
COMMIT   ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

# What a recipe starts with when it builds against RocksDB.
NATIVE     := .cache/native
WITH_ROCKS := flags="$$($(NATIVE) env)"; eval "$$flags";
# What the dynamic linker replaces by the folder of the binary.
ORIGIN     := $(if $(filter Darwin,$(shell uname -s)),@loader_path,$$ORIGIN)
# The packages whose tests start real brokers, real Kafka Streams and a real S3 server.
REAL_PACKAGES = $$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | awk '/sstool\/internal\/(worldtest|s3test)/{print $$1}')
REAL_READY := command -v mvn >/dev/null && java -version 2>&1 | awk -F'"' '/version/{split($$2, v, "."); m = v[1] == 1 ? v[2] : v[1]} END{exit m < 17}'

.PHONY: help demo build test test-matrix bench fuzz lint golden env native clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{gsub(/\$$\$$/, "$$", $$2); printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build ## build, then replay a changelog into a store and see where the time goes
	@$(BIN)/sstool demo

build: native ## build bin/sstool with its RocksDB library beside it; the folder can be moved
	@$(WITH_ROCKS) $(GO) build -buildvcs=auto -o $(BIN)/sstool \
		-ldflags '-X sstool/cmd.version=$(VERSION) -X sstool/cmd.commit=$(COMMIT) -r=$(ORIGIN)' ./cmd/sstool
	@$(NATIVE) copy $(BIN)

test: lint ## lint, the suite without cgo, the suite with RocksDB, and real Kafka when Java 17 and Maven are there
	@echo '== without cgo: nothing but Go'
	@CGO_ENABLED=0 $(GO) test -timeout $(PATIENCE) ./...
	@echo '== with RocksDB and the race detector'
	@$(WITH_ROCKS) SSTOOL_REAL=0 $(GO) test -race -timeout $(PATIENCE) ./...
	@if [ "$${CI:-}" = true ] || { $(REAL_READY); }; then \
		echo '== real Kafka and Kafka Streams, a representative part; make test-matrix runs all'; \
		$(WITH_ROCKS) packages="$(REAL_PACKAGES)"; [ -z "$$packages" ] || SSTOOL_REAL=1 $(GO) test -p 1 -count=1 -timeout $(PATIENCE) $$packages; \
	else \
		echo 'real-Kafka suite skipped: install Java 17 and Maven'; \
	fi

test-matrix: native ## the real-Kafka suite over all supported versions of Kafka Streams; takes long
	@{ $(REAL_READY); } || { echo 'sstool build: Java 17 or Maven is missing: install both (Debian, Ubuntu: apt-get install openjdk-17-jre-headless maven)' >&2; exit 1; }
	@$(WITH_ROCKS) SSTOOL_REAL=1 SSTOOL_MATRIX=full $(GO) test -v -count=1 -timeout 6h $(REAL_PACKAGES)

bench: build ## benchmarks; BENCH=regexp picks some; ratios count, not times
	@$(WITH_ROCKS) $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...
	@$(WITH_ROCKS) $(GO) run ./build/bench $(BENCHFLAGS)

fuzz: native ## run every fuzz target for FUZZTIME (10s)
	@$(WITH_ROCKS) $(GO) test -list '^Fuzz' ./... \
	| awk '/^Fuzz/{t[n++] = $$1} /^(ok|\?)/{for (i = 0; i < n; i++) print $$2, t[i]; n = 0}' \
	| while read -r package target; do \
		echo "== $$target ($$package)"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "$$package" </dev/null; \
	done

lint: native ## gofmt, go vet with and without cgo, staticcheck; the import rules are a test in internal/house
	@files="$$(gofmt -l .)"; [ -z "$$files" ] || { echo "gofmt -w is needed for:" $$files >&2; exit 1; }
	@CGO_ENABLED=0 $(GO) vet ./...
	@$(WITH_ROCKS) $(GO) vet ./...
	@$(WITH_ROCKS) $(GO) tool staticcheck ./...

golden: native ## rewrite golden files and the command reference; read the diff
	@$(WITH_ROCKS) UPDATE_GOLDEN=1 $(GO) test -count=1 ./cmd/...

env: native ## print what `eval "$$(make env)"` needs so that plain go commands and editors work
	@$(NATIVE) env

native: $(NATIVE)
	@$(NATIVE) path >/dev/null

# The helper is plain Go: it has to run before there is anything to link. It is
# moved into place, so that two makes at once do not trip over each other.
$(NATIVE): $(wildcard build/native/*.go)
	@command -v $(GO) >/dev/null || { echo 'sstool build: Go is missing: install Go 1.26 or newer from https://go.dev/dl' >&2; exit 1; }
	@mkdir -p $(@D)
	@CGO_ENABLED=0 GOFLAGS= $(GO) build -o $@.$$$$ ./build/native && mv -f $@.$$$$ $@

clean: ## remove what was built here; the fetched library stays in the user's cache folder
	@rm -rf $(BIN) .cache
