# Releases. The public CI publishes them: .github/workflows/release.yml.

RELEASE := node release/dist/release.js
# Passed unexpanded through the environment: neither make nor the shell expands it.
release: override export VERSION := $(value VERSION)
release-tool: node_modules/.package-lock.json
	@npx --no-install tsc -b release

release: release-tool ## prepare a release and print the publishing commands (VERSION=0.2.0 TESTED=1)
	@$(RELEASE) make --version "$$VERSION" $(if $(TESTED),--tested)

artefacts: release-tool ## pack what the tagged commit publishes into release/out, with the checks of make release
	@$(RELEASE) pack

publish: override export TO := $(value TO)
publish: release-tool ## publish the tagged commit (TO=npm, crates, jsr or github); the public CI does this
	@$(RELEASE) publish --to "$$TO"

stamp: release-tool ## write the version and the public address into all files that state them
	@$(RELEASE) stamp

changelog: release-tool ## show what the next release changes, from the fragments in changelog/
	@$(RELEASE) changelog

audit: release-tool ## ask npm's registry for known vulnerabilities of the locked packages
	@$(RELEASE) audit
