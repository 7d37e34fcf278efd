# The verbs of the npm package: its types, what npm and JSR would publish, and tests that take minutes.

package: setup ## what npm would publish, by publint and attw, and whether its types are those of make api
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && echo "What npm would publish, and its types:" && \
	npm pack ./packages/pointsman --ignore-scripts --silent --pack-destination "$$folder" >/dev/null && \
	npx --no-install publint --strict "$$folder"/*.tgz && \
	{ npx --no-install attw --profile esm-only --quiet "$$folder"/*.tgz || npx --no-install attw --profile esm-only "$$folder"/*.tgz; } && \
	mkdir "$$folder/api" && node packages/pointsman/api.js "$$folder/api" && \
	{ git --no-pager diff --no-index packages/pointsman/api "$$folder/api" || \
	  { echo "The public types are no longer those in packages/pointsman/api: run make api and commit what it writes."; exit 1; }; } && \
	echo "The package and its types are as they should be."

api: setup ## write the public types of the package down anew, in packages/pointsman/api
	@rm -f packages/pointsman/api/*.api.md
	@node packages/pointsman/api.js packages/pointsman/api
	@git status --short packages/pointsman/api
	@echo "The public types are in packages/pointsman/api; git says above which have changed."

ALL_RUNTIMES := packages/pointsman/tests/runtimes/all
$(ALL_RUNTIMES)/node_modules/.package-lock.json: $(ALL_RUNTIMES)/package-lock.json
	npm ci --prefix $(ALL_RUNTIMES) --ignore-scripts
	@touch $@

jsr: setup $(ALL_RUNTIMES)/node_modules/.package-lock.json ## what JSR would publish, checked by Deno as JSR does
	@node packages/pointsman/jsr.js
	@cd packages/pointsman && "$(CURDIR)/$(ALL_RUNTIMES)/node_modules/.bin/deno" publish --dry-run --allow-dirty --config jsr.json

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

# --- the long forms of two tests ---

faults: setup redis ## the whole fault matrix of the lock on Redis, about a quarter of an hour; writes docs/lock-faults.md (FAULT=6)
	node packages/pointsman/tests/faults/dist/faults/run.js $(FAULT)

soak: setup ## ten million calls through the bridge, workers killed in between (CALLS=100000); minutes
	node --expose-gc packages/pointsman/tests/soak/run.js $(CALLS)
