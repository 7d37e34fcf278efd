# The documentation site, built from the Markdown files.

SITE := site/node_modules/.package-lock.json
$(SITE): site/package-lock.json
	npm ci --prefix site --ignore-scripts --no-fund --no-audit
	@touch $@

export BASE ?= /
# Where the site is published, as https://host: readers of its social tags require absolute addresses.
export ORIGIN ?=
CRATE_DOCS := target/docs/doc

docs: setup $(SITE) ## build the documentation site and check its links; a minute (BASE=/folder/)
	@echo "1 of 4: the API of the npm package, by TypeDoc."
	@rm -rf site/api site/dist
	@cd site && node_modules/.bin/typedoc --logLevel Warn
	@echo "2 of 4: the API of the crate, by cargo doc."
	@if command -v cargo >/dev/null; then \
	  RUSTDOCFLAGS="$$RUSTDOCFLAGS -D warnings" \
	    cargo doc --no-deps --package pointsman --all-features --quiet --target-dir target/docs; \
	else echo "Rust is not installed (https://rustup.rs): the site says so."; fi
	@echo "3 of 4: the guides, by VitePress."
	@site/node_modules/.bin/vitepress build site
	@if [ -e $(CRATE_DOCS) ]; then cp -r $(CRATE_DOCS) site/dist/rust; fi
	@if [ -e lab/out/report ]; then mkdir -p site/dist/lab && cp -r lab/out/report lab/out/*.json* site/dist/lab; fi
	@echo "4 of 4: the links."
	@node site/check-links.js
	@echo "The site is built: site/dist/index.html; make docs-serve shows it."

docs-check: docs browser ## the same, search it, and check the pages in Chromium
	@node site/check-search.js
	@echo "Opening the pages in Chromium: about half a minute."
	@node site/check-pages.js

social: browser $(SITE) ## draw the picture for links to the site, site/public/social.png
	@node site/draw-social.js

docs-serve: docs ## build the documentation site and serve it locally
	@site/node_modules/.bin/vitepress preview site
