# The targets of the npm package: its types, what npm and JSR would publish, and tests that take minutes.

package: setup ## check the npm package with publint and attw, and its types against make api
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && echo "Checking the npm package and its types:" && \
	npm pack ./packages/pointsman --ignore-scripts --silent --pack-destination "$$folder" >/dev/null && \
	npx --no-install publint --strict "$$folder"/*.tgz && \
	{ npx --no-install attw --profile esm-only --quiet "$$folder"/*.tgz || npx --no-install attw --profile esm-only "$$folder"/*.tgz; } && \
	mkdir "$$folder/api" && node packages/pointsman/api.js "$$folder/api" && \
	{ git --no-pager diff --no-index packages/pointsman/api "$$folder/api" || \
	  { echo "The public types differ from packages/pointsman/api: run make api and commit the result."; exit 1; }; } && \
	echo "The package and its types are correct."

api: setup ## rewrite the report of the public types in packages/pointsman/api
	@rm -f packages/pointsman/api/*.api.md
	@node packages/pointsman/api.js packages/pointsman/api
	@git status --short packages/pointsman/api
	@echo "The public types are in packages/pointsman/api; git lists the changed ones above."

ALL_RUNTIMES := packages/pointsman/tests/runtimes/all
$(ALL_RUNTIMES)/node_modules/.package-lock.json: $(ALL_RUNTIMES)/package-lock.json
	npm ci --prefix $(ALL_RUNTIMES) --ignore-scripts
	@touch $@

jsr: setup $(ALL_RUNTIMES)/node_modules/.package-lock.json ## check what JSR would publish, with Deno
	@node packages/pointsman/jsr.js
	@cd packages/pointsman && "$(CURDIR)/$(ALL_RUNTIMES)/node_modules/.bin/deno" publish --dry-run --allow-dirty --config jsr.json

# In a separate folder, since the oldest and the newest compiler have the same name.
OLDEST_TYPESCRIPT := release/oldest-typescript
$(OLDEST_TYPESCRIPT)/node_modules/.package-lock.json: $(OLDEST_TYPESCRIPT)/package-lock.json
	npm ci --prefix $(OLDEST_TYPESCRIPT) --ignore-scripts --no-fund --no-audit
	@touch $@

types-oldest: setup $(OLDEST_TYPESCRIPT)/node_modules/.package-lock.json ## compile the package's types with the oldest supported TypeScript
	@for resolution in nodenext bundler; do \
	  $(OLDEST_TYPESCRIPT)/node_modules/.bin/tsc --project release/fresh/npm/tsconfig.$$resolution.json || exit 1; \
	done
	@echo "The types compile with TypeScript $$($(OLDEST_TYPESCRIPT)/node_modules/.bin/tsc --version | cut -d' ' -f2)."

# --- long-running tests ---

faults: setup redis ## run the faults of the shared primitives into docs/lock-faults.md; 40 minutes (PART=limiter, FAULT=g2)
	node packages/pointsman/tests/faults/dist/faults/run.js $(PART:%=--part %) $(FAULT)

soak: setup ## call ten million times over the bridge; minutes (CALLS=100000)
	node --expose-gc packages/pointsman/tests/soak/run.js $(CALLS)
