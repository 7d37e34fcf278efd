# Releases, except the publishing itself.

RELEASE := node release/dist/release.js
# Passed unexpanded through the environment: neither make nor the shell expands it.
release: override export VERSION := $(value VERSION)
release-tool: node_modules/.package-lock.json
	@npx --no-install tsc -b release

release: release-tool ## prepare a release and print the publishing commands (VERSION=0.2.0 TESTED=1)
	@$(RELEASE) make --version "$$VERSION" $(if $(TESTED),--tested)

stamp: release-tool ## write the version and the public address into all files that state them
	@$(RELEASE) stamp

changelog: release-tool ## show what the next release changes, from the fragments in changelog/
	@$(RELEASE) changelog

audit: release-tool ## ask npm's registry for known vulnerabilities of the locked packages
	@$(RELEASE) audit
