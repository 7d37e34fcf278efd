# The entry point. `make help` lists the main targets, `make help ALL=1` all.

.DEFAULT_GOAL := help
SHELL := /bin/bash
include packages/pointsman/package.mk packages/pointsman/tests/servers/servers.mk crates/crates.mk
include lab/lab.mk examples/examples.mk site/site.mk release/release.mk .github/workflows.mk
# Every target, so that a folder of the same name does not block it.
.PHONY: $(shell awk -F: '/^[a-z0-9-]+:/{print $$1}' $(MAKEFILE_LIST))

RUNTIMES := node packages/pointsman/tests/runtimes/dist/run.js

# What `make help` lists; the descriptions are those of the targets.
MAIN := setup test check format lab examples docs-serve rust test-all clean

help: ## list the main commands; ALL=1 lists all
	@awk -F ':.*## ' -v main="$(if $(ALL),,$(MAIN))" '\
	  /^[a-z0-9-]+:.*## / { names[++count] = $$1; about[$$1] = $$2 } \
	  END { \
	    if (main) count = split(main, names, " "); \
	    for (i = 1; i <= count; i++) { \
	      line = sprintf("  make %-18s", names[i]); \
	      last = split(about[names[i]], words, " "); \
	      for (w = 1; w <= last; w++) { \
	        if (length(line) + length(words[w]) > 79) { print line; line = sprintf("%25s", "") } \
	        line = line " " words[w] \
	      } \
	      print line \
	    } \
	  }' $(MAKEFILE_LIST)
	@echo
ifdef ALL
	@echo "  make lab FULL=1                      every row of every table: some 40 minutes"
	@echo "  make lab TABLE=semaphore             every row of one table (ROUNDS=20)"
	@echo "  make lab TABLE=semaphore ROW=…       one row; SUBJECT=… tries one subject"
	@echo "  make lab FRESH=1                     discard the results of an interrupted run"
	@echo "  make lab REPORT=1                    rebuild the page without measuring"
	@echo "  make lab NODE=26                     measure on that Node, from the registry"
else
	@echo "  make help ALL=1         list all commands, and the options of make lab"
endif

# --- prerequisites: the packages of the lock file, and the build ---

node_modules/.package-lock.json: package-lock.json
	@echo "Installing the packages of package-lock.json: about a minute, mostly downloads."
	@SECONDS=0; npm ci --ignore-scripts --no-fund --no-audit --loglevel=error && echo "Installed in $$SECONDS s."
	@touch $@

setup: node_modules/.package-lock.json ## install the locked packages and build; 1 to 2 minutes
	@echo "Building: about 20 s the first time, less after a change; longer on a busy machine."
	@SECONDS=0; npm run --silent build && echo "Built in $$SECONDS s."

# --- tests ---

# Installs Debian's package $(3) unless one of the commands $(1) exists; $(2) says what needs it. Nothing else is
# installed outside this folder. Other systems have packages of other names.
install = @command -v $(1) >/dev/null || { \
	  command -v apt-get >/dev/null || { echo "$(2) one of these commands: $(1). Install it, and try again."; exit 1; }; \
	  echo "$(2) Debian's package $(3): installing it."; \
	  as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$as_root apt-get update -q && \
	  $$as_root apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 $(3); }

browser:
	$(call install,chromium chromium-browser google-chrome google-chrome-stable,Tests and measurements in a browser need,chromium)

# The browsers of `make test-all`; WebKit's driver brings its own browser, which needs a screen.
browsers: browser
	$(call install,firefox-esr firefox,Tests in Firefox need,firefox-esr)
	$(call install,WebKitWebDriver,Tests in WebKit need,webkit2gtk-driver)
	$(call install,Xvfb,Tests in WebKit need,xvfb)

ab:
	$(call install,ab,The published load test of a web server needs,apache2-utils)

redis:
	$(call install,redis-server valkey-server,The tests of locks on Redis need,redis-server)

test: setup browser redis check rust targets-here ## check and test: Rust, Node, workerd, Chromium
	npx --no-install vitest run
	$(RUNTIMES) workerd chromium

test-all: setup browsers redis servers check rust rust-32 rust-oldest features targets deny semver doc examples example-axum docs-check types-oldest jsr ## test everything in docs/support.md and examples; long
	npx --no-install vitest run
	$(RUNTIMES) --all

# The public CI tests each system and version with the next two targets.
SERVER_HERE = $(shell command -v redis-server || command -v valkey-server)
SOURCE := packages/pointsman/src
NEED_REDIS := $(SOURCE)/redis $(SOURCE)/shared
test-node: setup ## run the tests of the npm package's source in the installed Node; those of locks need Redis
	@node --version
	$(if $(SERVER_HERE),,@echo "redis-server is missing: the tests of locks on Redis are left out.")
	npx --no-install vitest run --project pointsman $(if $(SERVER_HERE),$(SOURCE),$(filter-out $(NEED_REDIS),$(wildcard $(SOURCE)/* $(SOURCE)/shared/session $(SOURCE)/shared/protocol/[ms]*.test.ts)))

runtimes: setup ## run the tests in other runtimes (RUNTIME="deno bun chromium firefox webkit node-26")
	$(RUNTIMES) $(RUNTIME)

check: setup package ## check format, lint, words, versions and the package
	npx --no-install biome check --error-on-warnings .
	$(RELEASE) check
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings

format: setup ## format, and fix what lint can fix
	npx --no-install biome check --write .
	cargo fmt --all

clean: ## remove builds and packages; the lab's results stay
	rm -rf node_modules target crates/conformance/target crates/ecosystem/target lab/.tools packages/pointsman/tests/runtimes/all/node_modules packages/pointsman/declarations packages/pointsman/jsr site/node_modules site/api site/.vitepress/cache $(OLDEST_TYPESCRIPT)/node_modules $(SERVERS)
	git ls-files -z '*tsconfig*.json' | xargs -0 -n1 dirname | sort -u | xargs -I{} rm -rf {}/dist
	git clean -fdXq examples
	find . -name '*.tsbuildinfo' -not -path './node_modules/*' -delete
