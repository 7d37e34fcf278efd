# The verbs of the crates. Which toolchain each needs is brought by rustup, beside those that are there.

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

# Systems that nothing here runs on: the crates are compiled for them, without a linker.
TARGETS := aarch64-apple-darwin x86_64-pc-windows-gnu
# On WebAssembly the features that need no operating system compile; any other feature is a compile error that says so.
WASM := wasm32-unknown-unknown
WASM_FEATURES := io-util,macros,rt,sync,time
NOT_FOR_WASM := fs io-std net process rt-multi-thread signal

targets: ## whether the crates compile for macOS, Windows and WebAssembly, where they are not tested
	@echo "This needs Rust's libraries for $(TARGETS) $(WASM): rustup adds those that are missing."
	rustup target add $(TARGETS) $(WASM)
	@$(MAKE) --no-print-directory targets-here

# Those that are installed.
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
	    echo "The feature $$feature does not begin with the error that it cannot be had on $(WASM)."; exit 1; }; \
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
