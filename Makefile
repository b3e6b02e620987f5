# Everything a developer does with sstool; `make help` lists it.
#
# RocksDB comes as one prebuilt shared library (build/native fetches it once
# with Maven and keeps it in the user's cache folder). ROCKSDB_DIR=/path uses
# another one, with include/rocksdb/c.h and lib/librocksdb.so below it.

SHELL     := bash
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

GO        ?= go
FUZZTIME  ?= 10s
VERSION   ?= $(shell git describe --tags --dirty 2>/dev/null || echo 0.1.0-dev)
COMMIT    ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)

# The helper is plain Go: it must run before there is anything to link.
NATIVE    := CGO_ENABLED=0 $(GO) run ./build/native
# What a recipe runs first when it builds with RocksDB.
WITH_ROCKS := e="$$($(NATIVE) env)" && eval "$$e"

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: need-go
need-go:
	@command -v $(GO) >/dev/null || { echo "sstool build: Go is missing: install Go 1.26 or newer from https://go.dev/dl" >&2; exit 1; }

.PHONY: native
native: need-go
	@$(NATIVE) path >/dev/null

.PHONY: env
env: need-go ## print what `eval "$$(make env)"` needs so that plain go commands and editors work
	@$(NATIVE) env
