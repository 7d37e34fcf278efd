# The example programs, which use the package and the crate as a user does.

EXAMPLES := examples/node_modules/.package-lock.json
# Bun's binary comes from the registry too; its install step only moves it.
$(EXAMPLES): examples/package-lock.json
	npm ci --prefix examples --ignore-scripts --no-fund --no-audit
	npm rebuild --prefix examples --silent bun
	@touch $@

EXAMPLE_AXUM := --manifest-path examples/axum/Cargo.toml --locked
example-axum: ## build and test examples/axum, a web server on the crate
	@cargo tree $(EXAMPLE_AXUM) --invert tokio --depth 0 --quiet | grep -q '/crates/tokio)$$' || { \
	  echo "axum runs on Tokio, not on the crate:"; cargo tree $(EXAMPLE_AXUM) --invert tokio --depth 1; exit 1; }
	cargo test $(EXAMPLE_AXUM) --quiet --target-dir target/examples

examples: setup browser redis $(EXAMPLES) ## build and test the example programs (EXAMPLE=vite)
	@echo "Building and testing $(or $(EXAMPLE),each example, which takes a minute or two)."
	@node examples/test.js $(EXAMPLE)
