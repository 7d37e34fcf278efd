# The programs that use what is published as a user does.

EXAMPLES := examples/node_modules/.package-lock.json
# Bun's binary comes from the registry too; its install step only puts it into place.
$(EXAMPLES): examples/package-lock.json
	npm ci --prefix examples --ignore-scripts --no-fund --no-audit
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
