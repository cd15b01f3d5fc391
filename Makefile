# make run      set up what is missing and run a real session in the box
# make test     unit tests and the acceptance scripts
# make build    launchers in bin/, in-box binaries in libexec/
# make install  copies both below PREFIX
# make lint     golangci-lint, pinned in tools/go.mod, a build for every platform, and shellcheck
# make cross    builds for every platform
# make clean    removes what build made

SHELL := /bin/bash
GO ?= go
PREFIX ?= /usr/local

launchers := $(foreach name,claude-box codex-box cage sbox cage-gate gh-issue,$(if $(wildcard cmd/$(name)/*.go),$(name)))
in_box := $(foreach name,cage-init sbox cage-gate,$(if $(wildcard cmd/$(name)/*.go),$(name)))
platforms := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
arch = $(shell $(GO) env GOARCH)
os = $(shell $(GO) env GOOS)

# The commit is stamped into launchers where there is a repository to ask.
stamp := $(if $(shell git rev-parse HEAD 2>/dev/null),-buildvcs=auto,-buildvcs=false)
# $(call link,OS): sbox looks at its signals ahead of Go's runtime (cmd/sbox/entry.go).
link = -ldflags "-s -w$$([ $$name-$(1) != sbox-linux ] || echo ' -E _rt0_sbox')"
build_launcher = CGO_ENABLED=0 $(GO) build -trimpath $(stamp) $(call link,$(1))
# Without the commit, so that the same sources make the same image.
build_in_box = CGO_ENABLED=0 GOOS=linux $(GO) build -trimpath -buildvcs=false $(call link,linux)

shell_scripts := .ci/run ci/bootstrap ci/main-job ci/with-engine ci/say.sh ci/step ci/acceptance/run $(wildcard ci/acceptance/*.sh) images/cage/npm-binary

.PHONY: all build binaries install bootstrap tools-for-tests run test unit acceptance lint cross clean

# The prerequisites of run and test build on one another.
.NOTPARALLEL:

all: build

build:
	@ci/step build "build: bin/: $(launchers); libexec/: $(in_box)" $(MAKE) -s binaries

binaries:
	@mkdir -p bin libexec
	@for name in $(launchers); do $(call build_launcher,$(os)) -o bin/$$name ./cmd/$$name || exit; done
	@for name in $(in_box); do GOARCH=$(arch) $(build_in_box) -o libexec/$$name ./cmd/$$name || exit; done
	@# What cross has made is preferred by launchers, so it must not grow stale.
	@for dir in $(wildcard libexec/linux-*); do \
		for name in $(in_box); do GOARCH=$${dir##*-} $(build_in_box) -o $$dir/$$name ./cmd/$$name || exit; done; \
	done

install: build
	@install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/libexec/agent-cage"
	@install -m 0755 $(addprefix bin/,$(launchers)) "$(DESTDIR)$(PREFIX)/bin"
	@install -m 0755 $(addprefix libexec/,$(in_box)) "$(DESTDIR)$(PREFIX)/libexec/agent-cage"
	@for dir in $(notdir $(wildcard libexec/linux-*)); do \
		install -d "$(DESTDIR)$(PREFIX)/libexec/agent-cage/$$dir" && \
			install -m 0755 $(addprefix libexec/$$dir/,$(in_box)) "$(DESTDIR)$(PREFIX)/libexec/agent-cage/$$dir" || exit; \
	done
	@echo "install: in $(DESTDIR)$(PREFIX)/bin and $(DESTDIR)$(PREFIX)/libexec/agent-cage"

bootstrap:
	@ci/bootstrap

tools-for-tests:
	@ci/bootstrap --tests

run: bootstrap build
	@ci/with-engine ci/main-job

test: tools-for-tests build unit acceptance

unit:
	@$(GO) vet ./...
	@ci/with-engine $(GO) test ./...

acceptance: tools-for-tests build
	@ci/with-engine ci/acceptance/run

linter := .cache/bin/golangci-lint
$(linter): tools/go.mod tools/go.sum
	@mkdir -p $(@D)
	@echo "lint: building the linter (minutes, once)"
	@cd tools && $(GO) build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

lint: $(linter)
	@$(linter) run ./...
	@for platform in $(platforms); do GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 $(GO) build -trimpath ./... || exit; done
	@if command -v shellcheck >/dev/null; then shellcheck -x $(shell_scripts); else echo "lint: no shellcheck here, scripts not checked"; fi

cross:
	@for platform in $(platforms); do \
		os=$${platform%/*} arch=$${platform#*/}; \
		for name in $(launchers); do \
			GOOS=$$os GOARCH=$$arch $(call build_launcher,$$os) -o .cache/cross/$$os-$$arch/bin/$$name ./cmd/$$name || exit; \
		done; \
	done
	@for arch in amd64 arm64; do \
		for name in $(in_box); do GOARCH=$$arch $(build_in_box) -o libexec/linux-$$arch/$$name ./cmd/$$name || exit; done; \
	done
	@echo "cross: launchers in .cache/cross/, in-box binaries in libexec/linux-amd64 and libexec/linux-arm64"

clean:
	@rm -rf bin libexec .cache/cross .cache/bin .cache/log
