# The check of the public CI's workflows. Its tools are built into target/tools, once for each version.

ACTIONLINT := target/tools/actionlint-1.7.12
ZIZMOR := target/tools/zizmor-1.32.0

$(ACTIONLINT)/actionlint:
	@command -v go >/dev/null || { echo "actionlint, which checks workflows, needs Go 1.24 or later (Debian: golang-go)."; exit 1; }
	GOBIN="$(CURDIR)/$(@D)" go install github.com/rhysd/actionlint/cmd/actionlint@v$(ACTIONLINT:target/tools/actionlint-%=%)

$(ZIZMOR)/bin/zizmor:
	@python3 -m venv --help >/dev/null 2>&1 || { echo "zizmor, which checks workflows, needs Python with venv (Debian: python3-venv)."; exit 1; }
	python3 -m venv $(ZIZMOR)
	$(ZIZMOR)/bin/pip install --quiet --disable-pip-version-check --only-binary=:all: zizmor==$(ZIZMOR:target/tools/zizmor-%=%)

workflows: $(ACTIONLINT)/actionlint $(ZIZMOR)/bin/zizmor ## check the public CI's workflows with actionlint and zizmor; needs Go and Python
	$(ACTIONLINT)/actionlint
	$(ZIZMOR)/bin/zizmor --quiet --offline --no-progress .github
	@echo "The workflows are correct."
