# The targets of the crates. rustup installs missing toolchains beside the existing ones.

rust: ## run the Rust tests and the loom models
	cargo test --workspace --all-features --quiet
	LOOM_MAX_PREEMPTIONS=2 RUSTFLAGS="--cfg loom" \
	  cargo test --package pointsman --lib --features net,diagnostics --release --quiet --target-dir target/loom loom_tests::

# The 32-bit target of the tests: one that needs no system library.
NARROW := i686-unknown-linux-musl

# Without `diagnostics`, with which the other tests run: here the other layout of tasks and locks is tested.
rust-32: ## run the Rust tests for 32 bits
	rustup target add $(NARROW)
ifeq ($(shell uname -sm),Linux x86_64)
	cargo test --package pointsman --lib --tests --no-default-features --features full,test-util --quiet --target $(NARROW)
else
	@echo "They run only on Linux on x86-64: compiling them."
	cargo check --package pointsman --lib --tests --no-default-features --features full,test-util --target $(NARROW)
endif

rust-oldest: ## test the crates and the guides' examples with the oldest supported Rust
	$(call toolchain,$(OLDEST_RUST),rustc)
	@echo "The tests of pointsman need a later Rust. The examples of the other crates use all of it."
	cargo +$(OLDEST_RUST) test --package tokio --package pointsman-macros --all-features --quiet --target-dir target/oldest

FEATURES = $(shell sed -n '/^\[features\]/,/^$$/s/^\([a-z-]*\) = .*/\1/p' crates/pointsman/Cargo.toml)

features: ## compile the crate without features, with each alone, and with all
	@for feature in $(FEATURES); do \
	  echo "Compiling with the feature $$feature."; \
	  cargo clippy --package pointsman --lib --no-default-features --features $$feature --quiet -- -D warnings || exit 1; \
	done
	@echo "Each feature compiles."

# The tests do not run on these systems: the crates are compiled for them, without a linker.
TARGETS := aarch64-apple-darwin x86_64-pc-windows-gnu
# On WebAssembly the features that need no operating system compile; any other feature is a compile error that says so.
WASM := wasm32-unknown-unknown
WASM_FEATURES := io-util,macros,rt,sync,time
NOT_FOR_WASM := fs io-std net process rt-multi-thread signal

targets: ## compile the crates for macOS, Windows and WebAssembly
	@echo "This needs Rust's libraries for $(TARGETS) $(WASM): rustup adds those that are missing."
	rustup target add $(TARGETS) $(WASM)
	@$(MAKE) --no-print-directory targets-here

# The installed targets only.
targets-here:
	@for target in $(filter $(TARGETS),$(shell rustup target list --installed 2>/dev/null)); do \
	  echo "Compiling for $$target."; \
	  cargo check --manifest-path crates/tokio/Cargo.toml --features full --quiet --target $$target || exit 1; \
	done
	@rustup target list --installed 2>/dev/null | grep -qx $(WASM) || exit 0; \
	check="cargo check --manifest-path crates/tokio/Cargo.toml --quiet --target $(WASM)"; \
	echo "Compiling for $(WASM)."; \
	$$check --features $(WASM_FEATURES) || exit 1; \
	for feature in $(NOT_FOR_WASM); do \
	  $$check --features $$feature 2>&1 | grep -m1 ^error | grep -q "are supported on wasm" || { \
	    echo "The feature $$feature does not fail with the error that it is not supported on $(WASM)."; exit 1; }; \
	done

OLDEST_RUST = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# Installs the toolchain $(1) with the component $(2) if it is missing, and changes nothing else.
toolchain = @rustup component list --toolchain $(1) --installed 2>/dev/null | grep -q '^$(2)' || \
	  rustup toolchain install $(1) --profile minimal $(if $(filter nightly,$(1)),--component rust-src --component $(2))

# --- the crates as packages ---

# The targets for which docs.rs builds the pages, from the manifest.
DOC_TARGETS = $(shell sed -n 's/^targets = \[\(.*\)\]/\1/p' crates/pointsman/Cargo.toml | tr -d '",')
DOC := target/docs.rs

doc: ## build the crates' pages as docs.rs does; needs Rust's nightly
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

deny: $(DENY) ## check licences, sources and (with access to GitHub) advisories of all crates
	@if $(DENY) fetch db; then checks="advisories bans licenses sources"; else checks="bans licenses sources"; fi; \
	for lock in $$(git ls-files '*Cargo.lock'); do \
	  echo "$$(dirname $$lock): $$checks"; \
	  $(DENY) --log-level error --manifest-path $${lock%.lock}.toml --workspace --locked --config deny.toml \
	    check --hide-inclusion-graph $$checks || exit 1; \
	done; \
	case $$checks in advisories*) echo "All advisories, licences and sources are allowed.";; \
	  *) echo "All licences and sources are allowed. ADVISORIES WERE NOT CHECKED: their database cannot be reached.";; esac

semver: ## check the version against the API changes since the last release
	@last=$$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || { \
	  echo "No release to compare with: no tag matches v*."; exit 0; }; \
	$(MAKE) --no-print-directory $(SEMVER) && \
	echo "Comparing with $$last: this takes a minute or two." && \
	$(SEMVER) semver-checks --package pointsman --all-features --baseline-rev $$last

# --- further tests of the crates ---

SEEDS := 4
miri: ## run the Rust unit tests under Miri; minutes (SEEDS=4 orders of tasks)
	$(call toolchain,nightly,miri)
	cargo +nightly miri test --package pointsman --lib
	MIRIFLAGS=-Zmiri-many-seeds=0..$(SEEDS) \
	  cargo +nightly miri test --package pointsman --lib --quiet -- task::tests
	cargo +nightly miri test --package pointsman --lib --target i686-unknown-linux-gnu -- task:: scheduler::

# Each backtrace would take seconds, and tests that catch a panic would seem to hang.
SANITIZERS := thread address
sanitizers: $(SANITIZERS:%=sanitizer-%) ## run the Rust tests with the thread, address and leak sanitizers; minutes

sanitizer-%:
	$(call toolchain,nightly,rust-src)
	RUST_BACKTRACE=0 RUSTFLAGS=-Zsanitizer=$* cargo +nightly test -Zbuild-std --package pointsman --lib --tests --no-fail-fast \
	  --quiet --target $$(rustc -vV | sed -n 's/^host: //p') --target-dir target/sanitizer-$*

# The seconds during which dumps are taken with each sanitizer.
DUMP_SECONDS := 60
DUMP_SECONDS_address := 10
dump-under-load: $(SANITIZERS:%=dump-under-load-%) ## take 1,000 dumps a second under load with the sanitizers; minutes

dump-under-load-%:
	$(call toolchain,nightly,rust-src)
	DUMP_SECONDS=$(or $(DUMP_SECONDS_$*),$(DUMP_SECONDS)) RUST_BACKTRACE=0 RUSTFLAGS=-Zsanitizer=$* \
	  cargo +nightly test -Zbuild-std --package pointsman --features full,diagnostics --test dump_under_load --quiet \
	  --target $$(rustc -vV | sed -n 's/^host: //p') --target-dir target/sanitizer-$* -- --ignored --nocapture

conformance: ## run Tokio's own tests on the crate (FILE=sync_mpsc UNSTABLE=1)
	@cargo run --quiet --release --manifest-path crates/conformance/Cargo.toml -- $(if $(UNSTABLE),--unstable) $(FILE)

conformance-update: ## the same, and rewrite the list of expected failures; keeps the reasons
	@cargo run --quiet --release --manifest-path crates/conformance/Cargo.toml -- --update $(if $(UNSTABLE),--unstable) $(FILE)

VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' crates/tokio/Cargo.toml)
# Later ones write bounds of auto traits in terms of private types, which cannot be compared.
API_NIGHTLY := nightly-2026-05-20
tokio-api: ## compare the public items with those of a release of Tokio (VERSION=1.54.1 LIST=1)
	$(call toolchain,$(API_NIGHTLY),rustc)
	@NIGHTLY=$(API_NIGHTLY) cargo run --quiet --manifest-path crates/conformance/Cargo.toml --package api -- $(if $(LIST),--list) $(VERSION)

tokio-switch: ## test the patch, its guard and cargo --config in programs of their own
	@cargo test --quiet --manifest-path crates/conformance/Cargo.toml --test switch

ecosystem: redis ## test libraries built on Tokio, on Tokio and on the crate (PACKAGE=hyper)
	@cargo run --quiet --release --manifest-path crates/ecosystem/Cargo.toml -- $(PACKAGE)

ecosystem-update: redis ## the same, and pin the extra dependencies of their tests again
	@cargo run --quiet --release --manifest-path crates/ecosystem/Cargo.toml -- --update $(PACKAGE)

observers: ## run tokio-metrics, dial9 and console-subscriber on both, with and without tokio_unstable
	@cargo run --quiet --release --manifest-path crates/ecosystem/Cargo.toml --bin observers

soak-io: ## run I/O faults on Tokio and on the crate; minutes (FAULT=signals)
	@cargo run --quiet --release --manifest-path crates/ecosystem/Cargo.toml --bin soak -- $(FAULT)

benches: ## run Tokio's benches on both (TOKIO=a checkout BENCH=sync_mpsc MINUTES=10 DIAGNOSTICS=1)
	@cargo run --quiet --release --manifest-path crates/conformance/Cargo.toml --bin benches -- \
	  $(if $(TOKIO),--tokio "$(TOKIO)") $(if $(MINUTES),--minutes "$(MINUTES)") $(if $(DIAGNOSTICS),--diagnostics) $(BENCH)

policy: ## simulate the wake-up policy on 2 to 128 cores, beside Tokio's (CORES=64)
	@CORES="$(CORES)" cargo test --package pointsman --lib --release --quiet -- \
	  --exact runtime::scheduler::policy::simulation::report::print_tables --ignored --nocapture
