# The front door. `make help` lists what there is.

.DEFAULT_GOAL := help
SHELL := /bin/bash
include packages/pointsman/package.mk packages/pointsman/tests/servers/servers.mk crates/crates.mk
include lab/lab.mk examples/examples.mk site/site.mk release/release.mk
# Every verb, so that a folder of the same name stands in nobody's way.
.PHONY: $(shell awk -F: '/^[a-z0-9-]+:/{print $$1}' $(MAKEFILE_LIST))

RUNTIMES := node packages/pointsman/tests/runtimes/dist/run.js

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  make lab FULL=1                      every row of every table: about an hour"
	@echo "  make lab TABLE=semaphore             every row of one table; ROUNDS=20 does it thoroughly"
	@echo "  make lab TABLE=semaphore ROW=…       one row again; SUBJECT=… tries one subject"
	@echo "  make lab FRESH=1                     discard what an interrupted run kept"
	@echo "  make lab REPORT=1                    build the page again, measure nothing"
	@echo "  make lab NODE=26                     measure on that Node, taken from the registry"

# --- what everything needs: the packages of the lock file, and the build ---

node_modules/.package-lock.json: package-lock.json
	npm ci --ignore-scripts --no-fund --no-audit
	@touch $@

setup: node_modules/.package-lock.json ## install and build, as every other target does first
	@echo "Building the packages and the lab: some seconds."
	@npm run --silent build

# --- tests ---

# The only things that are installed outside this folder, and only if they are missing: $(1) is one of
# these commands, $(2) says what for, $(3) is Debian's package.
install = @command -v $(1) >/dev/null || { \
	  echo "$(2) Debian's package $(3): installing it."; \
	  as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$as_root apt-get update -q && \
	  $$as_root apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 $(3); }

browser:
	$(call install,chromium chromium-browser google-chrome google-chrome-stable,Tests and measurements in a browser need,chromium)

# Those of `make test-all`; WebKit's own browser comes with its driver, and has to have a screen.
browsers: browser
	$(call install,firefox-esr firefox,Tests in Firefox need,firefox-esr)
	$(call install,WebKitWebDriver,Tests in WebKit need,webkit2gtk-driver)
	$(call install,Xvfb,Tests in WebKit need,xvfb)

ab:
	$(call install,ab,The published load on a web server is sent by,apache2-utils)

redis:
	$(call install,redis-server valkey-server,Locks on Redis are tried out on,redis-server)

test: setup browser redis check rust targets-here ## all tests: in Node, workerd, headless Chromium, and those in Rust
	npx --no-install vitest run
	$(RUNTIMES) workerd chromium

test-all: setup browsers redis servers check rust rust-32 rust-oldest features targets deny semver doc examples example-axum docs-check types-oldest jsr ## everything that docs/support.md promises: every runtime, browser and server, the examples, the site; long
	npx --no-install vitest run
	$(RUNTIMES) --all

check: setup package ## formatting and lint, versions in step, and what npm would publish; a warning fails
	npx --no-install biome check --error-on-warnings .
	$(RELEASE) check
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings

format: setup ## format, and mend what can be mended
	npx --no-install biome check --write .
	cargo fmt --all

clean: ## remove what was built and installed here; the lab's results stay
	rm -rf node_modules target crates/conformance/target crates/ecosystem/target lab/.tools packages/pointsman/tests/runtimes/all/node_modules packages/pointsman/declarations packages/pointsman/jsr site/node_modules site/api site/.vitepress/cache $(OLDEST_TYPESCRIPT)/node_modules $(SERVERS)
	git ls-files -z '*tsconfig*.json' | xargs -0 -n1 dirname | sort -u | xargs -I{} rm -rf {}/dist
	git clean -fdXq examples
	find . -name '*.tsbuildinfo' -not -path './node_modules/*' -delete
