# One entry for people and for CI. `make` alone lists the targets.
#
#   PYTHON   interpreter for the virtual environment (3.11 or newer)     make PYTHON=python3.13 VENV=.venv-3.13 test
#   VENV     where the environment is made, inside the repository
#   CARGO    the cargo to call; CARGO_TARGET_DIR is honored as always

PYTHON ?= python3
VENV   ?= .venv
CARGO  ?= cargo

# Extra arguments, e.g. make demo DEMO_ARGS="--seed 7", make test PYTEST_ARGS="-k sonar".
DEMO_ARGS   ?=
PYTEST_ARGS ?=
PEERS_ARGS  ?=
DOCS_ARGS   ?=
CARGO_ARGS  ?=

VENV_PYTHON := $(VENV)/bin/python
# The version of maturin stands in pyproject.toml alone.
MATURIN     := $(shell sed -n 's/^requires = \["\(maturin[^"]*\)"\]$$/\1/p' pyproject.toml)

# Stamps: what has been done, and when. Work is skipped while its sources are older.
VENV_STAMP    := $(VENV)/.stamp-venv
WHEEL_STAMP   := dist/.stamp-wheel
DEMO_STAMP    := $(VENV)/.stamp-demo
INSTALL_STAMP := $(VENV)/.stamp-install
DOCS_STAMP    := $(VENV)/.stamp-docs

# Directories are listed too: removing a file makes its directory newer.
SOURCES := $(wildcard Cargo.toml Cargo.lock pyproject.toml README.md LICENSE-MIT LICENSE-APACHE) \
           $(shell find src python/bayespoint ! -name '*.pyc' ! -name __pycache__ ! -name '*.so' 2>/dev/null)

# The interpreter that pyo3's build script asks when the Python feature is compiled outside maturin.
PYO3 := PYO3_PYTHON="$(CURDIR)/$(VENV_PYTHON)"

# The folders of this machine, which stand in the texts of panics, by names that are the same on all: a wheel that is built
# twice has the same bytes (`make reproducible`).
CARGO_HOME ?= $(HOME)/.cargo
REMAPPED   := $${RUSTFLAGS:+$$(printf '%s\037' $$RUSTFLAGS)}--remap-path-prefix=$(CURDIR)=/bayespoint$$(printf '\037')--remap-path-prefix=$(CARGO_HOME)=/cargo
MATURIN_BUILD = CARGO_ENCODED_RUSTFLAGS="$(REMAPPED)" $(VENV_PYTHON) -m maturin build --release --locked
TOOLS      := --constraint .ci/tools.txt
EXTRAS     := arviz,frame,onnx,plot

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help venv build install demo test test-all test-slow test-rust test-rust-all test-python test-python-all \
        test-oldest test-newest test-free-threaded ci-slow coverage coverage-rust mutants sanitize miri reproducible release-check lint lint-rust lint-python format docs notebooks docs-check bench bench-compare bench-fit bench-deployment \
        bench-peers clean \
        check-cargo check-python

help: ## list the targets
	@echo "usage: make TARGET [PYTHON=python3.x] [VENV=.venv]"
	@echo
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

check-cargo:
	@command -v $(CARGO) >/dev/null 2>&1 || { \
	  echo "error: '$(CARGO)' not found. Install Rust $$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or newer" \
	       "(https://rustup.rs) or name it: make CARGO=/path/to/cargo" >&2; exit 1; }

check-python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "error: '$(PYTHON)' not found. Install Python 3.11 or newer, or name it: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo "error: '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | head -n 1); Python 3.11 or newer is needed." \
	       "Name one: make PYTHON=python3.12" >&2; exit 1; }
ifneq ($(origin PYTHON),file)
	@version='import sys; print("%d.%d" % sys.version_info[:2])'; \
	if [ -x "$(VENV_PYTHON)" ] && [ "$$($(PYTHON) -c "$$version")" != "$$($(VENV_PYTHON) -c "$$version")" ]; then \
	  echo "error: $(VENV) was made with Python $$($(VENV_PYTHON) -c "$$version"), PYTHON=$(PYTHON) is another." \
	       "Keep both: make PYTHON=$(PYTHON) VENV=.venv-$$($(PYTHON) -c "$$version")" >&2; exit 1; \
	fi
endif

$(VENV_STAMP): | check-python
	@echo "Making a virtual environment in $(VENV)"
	@if $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	  $(PYTHON) -m venv "$(VENV)"; \
	elif $(PYTHON) -c 'import pip, venv' 2>/dev/null; then \
	  $(PYTHON) -m venv --without-pip "$(VENV)" && $(PYTHON) -m pip --python "$(VENV_PYTHON)" install --quiet pip; \
	else \
	  echo "error: '$(PYTHON)' can make no virtual environment: its standard module 'ensurepip' or 'venv' is missing." >&2; \
	  echo "       On Debian and Ubuntu: apt-get install python3-venv. Or name another Python: make PYTHON=python3.12" >&2; \
	  exit 1; \
	fi
	@touch $@

venv: $(VENV_STAMP)

# Cargo is silent while it compiles one item. The loop ends by itself if make is killed.
$(WHEEL_STAMP): $(SOURCES) $(VENV_STAMP) | check-cargo
	@$(VENV_PYTHON) -m pip install --quiet $(TOOLS) pip "$(MATURIN)"
	@rm -f dist/bayespoint-*.whl
	@echo "Compiling bayespoint and what it needs: some minutes, most of them for bayespoint itself"
	@shell=$$$$; while sleep 15 >/dev/null 2>&1 && kill -0 $$shell 2>/dev/null; do \
	  echo "compiling for $$((seconds += 15)) s"; \
	done & \
	$(MATURIN_BUILD) --interpreter "$(VENV_PYTHON)" --out dist; status=$$?; kill $$!; exit $$status
	@touch $@

build: $(WHEEL_STAMP)

# First our wheel alone, replaced whatever version is there, then what it and its plots need.
$(DEMO_STAMP): $(WHEEL_STAMP)
	@echo "Installing bayespoint, matplotlib and what they need into $(VENV)"
	@$(VENV_PYTHON) -m pip install --quiet --force-reinstall --no-deps dist/bayespoint-*.whl
	@$(VENV_PYTHON) -m pip install "$$(echo dist/bayespoint-*.whl)[plot]"
	@touch $@

$(INSTALL_STAMP): $(DEMO_STAMP) .ci/tools.txt
	@echo "Installing the development tools into $(VENV)"
	@$(VENV_PYTHON) -m pip install --quiet $(TOOLS) "$$(echo dist/bayespoint-*.whl)[$(EXTRAS)]" --group dev
	@touch $@

install: $(INSTALL_STAMP) ## install the wheel, its extras and the development tools into the environment

demo: $(DEMO_STAMP) ## probabilities, abstaining and evidence beside other classifiers on sonar, and a picture
	@$(VENV_PYTHON) examples/demo.py $(DEMO_ARGS)

test: test-rust test-python ## what to run before a commit: engine, package, doctests, in about seven minutes on two cores

test-all: test-rust-all test-python-all ## every test, the long ones too

test-rust: | check-cargo
	$(CARGO) test --no-fail-fast $(CARGO_ARGS)

test-rust-all: | check-cargo
	$(CARGO) test --no-fail-fast $(CARGO_ARGS) -- --include-ignored

# A process for each processor, at most eight. Tests of one group share what takes long to make.
PARALLEL ?= -n logical --maxprocesses 8 --dist loadgroup
TESTS    := tests/python README.md docs/index.md docs/guide --pyargs bayespoint

# One thread of BLAS: those of several processes wait for each other. `test-python-all` has as many as users have.
test-python: install
	OPENBLAS_NUM_THREADS=1 $(VENV_PYTHON) -m pytest $(TESTS) $(PARALLEL) -m "not long" $(PYTEST_ARGS)

test-python-all: install
	$(VENV_PYTHON) -m pytest $(TESTS) $(PARALLEL) $(PYTEST_ARGS)

test-slow: install | check-cargo ## the statistical tests and those of properties at full length, and all random problems
	BAYESPOINT_SLOW=1 $(CARGO) test --no-fail-fast $(CARGO_ARGS) -- --include-ignored
	BAYESPOINT_SLOW=1 $(VENV_PYTHON) -m pytest tests/python -m slow $(PARALLEL) $(PYTEST_ARGS) \
	  || [ $$? -eq 5 ] # 5: no test bears the mark

# Python 3.11 where there is one, unless PYTHON is given; NumPy 1.26 is for Python up to 3.12.
OLDEST         := .venv-oldest
OLDEST_PYTHON  ?= $(if $(filter file,$(origin PYTHON)),$(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo $(PYTHON)),$(PYTHON))
OLDEST_STAMP   := $(OLDEST)/.stamp-oldest

$(OLDEST_STAMP): $(WHEEL_STAMP) .ci/oldest.txt .ci/tools.txt
	@$(OLDEST_PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' || { \
	  echo "error: '$(OLDEST_PYTHON)' must be Python 3.11 or 3.12, for which the oldest NumPy is made." \
	       "Name one: make $(MAKECMDGOALS) OLDEST_PYTHON=python3.11" >&2; exit 1; }
	@rm -rf "$(OLDEST)"
	@$(MAKE) --no-print-directory VENV="$(OLDEST)" PYTHON="$(OLDEST_PYTHON)" venv
	@$(OLDEST)/bin/python -m pip install --quiet $(TOOLS) pip
	@$(OLDEST)/bin/python -m pip install --quiet $(TOOLS) --constraint .ci/oldest.txt "$$(echo dist/bayespoint-*.whl)[$(EXTRAS)]" --group dev
	@touch $@

test-oldest: $(OLDEST_STAMP)
	$(OLDEST)/bin/python -m pytest tests/python $(PARALLEL) $(PYTEST_ARGS)

# The newest Python there is, unless it is given: ArviZ 1 is for 3.12 and newer.
NEWEST         := .venv-newest
NEWEST_PYTHON  ?= $(shell for name in python3.15 python3.14 python3.13 python3.12; do $$name -c 'print("'$$name'")' 2>/dev/null && exit; done; echo $(PYTHON))
NEWEST_STAMP   := $(NEWEST)/.stamp-newest

$(NEWEST_STAMP): $(WHEEL_STAMP)
	@rm -rf "$(NEWEST)"
	@$(MAKE) --no-print-directory VENV="$(NEWEST)" PYTHON="$(NEWEST_PYTHON)" venv
	@$(NEWEST)/bin/python -m pip install --quiet --upgrade pip
	@$(NEWEST)/bin/python -m pip install --quiet --upgrade "$$(echo dist/bayespoint-*.whl)[$(EXTRAS)]" --group dev
	@touch $@

test-newest: $(NEWEST_STAMP)
	$(NEWEST)/bin/python -m pytest tests/python $(PARALLEL) $(PYTEST_ARGS)

# Without the global lock: the stable ABI is none there, so the wheel is one of its own. Optional packages may not be had for
# it, and their tests are skipped.
FREE         := .venv-free-threaded
FREE_PYTHON  ?= python3.14t

test-free-threaded: VENV_PYTHON = $(FREE)/bin/python
test-free-threaded: | check-cargo
	@$(FREE_PYTHON) -c 'import sysconfig; assert sysconfig.get_config_var("Py_GIL_DISABLED")' || { \
	  echo "error: '$(FREE_PYTHON)' must be a Python without the global lock. Name one: make $@ FREE_PYTHON=python3.14t" >&2; exit 1; }
	@$(MAKE) --no-print-directory VENV="$(FREE)" PYTHON="$(FREE_PYTHON)" venv
	@$(FREE)/bin/python -m pip install --quiet $(TOOLS) "$(MATURIN)" pytest pytest-xdist hypothesis
	@rm -rf $(FREE)/dist
	$(MATURIN_BUILD) --interpreter $(FREE)/bin/python --out $(FREE)/dist
	@$(FREE)/bin/python -m pip install --quiet --force-reinstall $(FREE)/dist/*.whl
	$(FREE)/bin/python -m pytest tests/python/test_threads.py tests/python/engine tests/python/estimators $(PARALLEL) -m "not long" $(PYTEST_ARGS)

coverage: install ## lines and branches of the package that the tests run, papers apart
	$(VENV_PYTHON) -m pytest tests/python $(PARALLEL) -m "not long" --cov --cov-report=term:skip-covered $(PYTEST_ARGS)

# Tools of cargo that these need: cargo install --locked cargo-llvm-cov cargo-mutants; rustup toolchain install nightly
# --component miri,rust-src. The names of tests that Miri runs are those of small ones, on vectors, factors and pools.
TARGET := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
SHARD  ?= 0/1

coverage-rust: | check-cargo
	$(CARGO) llvm-cov --lib --test engine $(CARGO_ARGS)

mutants: | check-cargo ## changes of the engine, one by one, that no test notices (SHARD=3/50, MUTANTS_ARGS="--in-diff FILE")
	$(CARGO) mutants --shard $(SHARD) $(MUTANTS_ARGS)

sanitize: | check-cargo
	ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 RUSTFLAGS=-Zsanitizer=address \
	$(CARGO) +nightly test --target $(TARGET) --lib --test engine $(CARGO_ARGS) -- --skip time_ends_a_run

miri: | check-cargo
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks" PROPTEST_CASES=4 \
	$(CARGO) +nightly miri test --lib -- dot:: updatable_cholesky:: pool:: pivoted_cholesky::tests::copies

reproducible: $(VENV_STAMP) | check-cargo ## the wheel, built in two folders: the same bytes, and no folder of this machine
	$(VENV_PYTHON) .ci/reproducible.py

release-check: $(VENV_STAMP) | check-cargo ## all of a release that one machine can check: distributions built and used, versions, licenses
	$(VENV_PYTHON) .ci/release.py

# CONTRIBUTING.md explains each part. The interpreter's library is where the linker finds it, the program not always.
# Units of work that are in experiments_output are not done again: an interrupted run goes on.
ci-slow: test-slow test-oldest test-newest ## what takes too long for every change: full length, oldest, newest, Ray, fuzzing, an audit, the papers (hours)
	LIBRARY=$$($(VENV_PYTHON) -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))'); \
	LD_LIBRARY_PATH="$$LIBRARY:$$LD_LIBRARY_PATH" $(PYO3) $(CARGO) test --features python --lib python::
	$(VENV_PYTHON) -m pip install --quiet "ray>=2.30" pip-audit
	$(VENV_PYTHON) -m pytest tests/python -m ray
	BAYESPOINT_FUZZ=1000000 $(CARGO) test --test engine fuzz:: -- --nocapture
	BAYESPOINT_FUZZ=1000000 $(VENV_PYTHON) -m pytest tests/python/test_fuzz.py
	$(CARGO) metadata --format-version 1 --locked --all-features | $(VENV_PYTHON) .ci/audit.py
	$(VENV_PYTHON) -m pip_audit --local --progress-spinner off
	$(VENV_PYTHON) -m bayespoint.papers all --out experiments_output

lint: lint-rust lint-python ## every check of form and types

lint-rust: $(VENV_STAMP) | check-cargo
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	$(PYO3) $(CARGO) clippy --all-targets --features python -- -D warnings

lint-python: install
	$(VENV_PYTHON) -m ruff check .
	$(VENV_PYTHON) -m ruff format --check .
	$(VENV_PYTHON) -m mypy
	$(VENV_PYTHON) -m mypy.stubtest bayespoint._core
	$(VENV)/bin/zizmor --offline --no-progress .github

format: install | check-cargo ## rewrite the sources in the form that lint asks for
	$(CARGO) fmt
	$(VENV_PYTHON) -m ruff check --fix .
	$(VENV_PYTHON) -m ruff format .

$(DOCS_STAMP): $(INSTALL_STAMP)
	@$(VENV_PYTHON) -m pip install --quiet "$$(echo dist/bayespoint-*.whl)[frame,plot]" --group docs
	@touch $@

docs: $(DOCS_STAMP) ## the site, into docs/_build/html; the pages of docs/examples are run, warnings are errors
	$(VENV_PYTHON) docs/_notebooks.py --check
	$(VENV_PYTHON) -m sphinx --builder html --nitpicky --fail-on-warning --keep-going -j auto $(DOCS_ARGS) docs docs/_build/html

notebooks: $(DOCS_STAMP) ## run the notebooks of examples/, which are made of pages of docs/examples
	$(VENV_PYTHON) docs/_notebooks.py

docs-check: | check-cargo
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps

bench: | check-cargo check-python ## criterion benches of the engine, and tables of their figures
	$(CARGO) bench $(CARGO_ARGS) -- --save-baseline "$$(git describe --always --dirty)"
	@$(PYTHON) benches/table.py

# Processor times of two revisions, in turns; COMPARE_ARGS="--rounds 24" for smaller differences.
BASE ?= main
bench-compare: | check-cargo check-python ## a few benches beside those of another revision (BASE=v0.2.0): fails if one is slower
	@$(PYTHON) benches/compare.py $(COMPARE_ARGS) "$(BASE)"

bench-fit: install ## fits with a given kernel beside LAPACK's floor, SVC and Gaussian processes (FIT_ARGS="--sizes 400")
	@$(VENV_PYTHON) benches/peers/fit.py --given $(FIT_ARGS)

bench-deployment: install ## latency, files and memory of fitted models, and as ONNX (DEPLOYMENT_ARGS="0 3": models 0 and 3)
	@$(VENV_PYTHON) benches/deployment.py $(DEPLOYMENT_ARGS)

bench-peers: install ## the classifier on public tables beside other packages', which it installs (PEERS_ARGS="--suite classes")
	@$(VENV_PYTHON) -m pip install --quiet catboost lightgbm pandas
	@$(VENV_PYTHON) benches/peers/tables.py $(PEERS_ARGS)

clean: ## remove what was built, keep the environment
	rm -rf dist demo_output experiments_output .pytest_cache .mypy_cache .ruff_cache $(DEMO_STAMP) $(INSTALL_STAMP) $(DOCS_STAMP)
	rm -rf docs/_build docs/reference
	@if command -v $(CARGO) >/dev/null 2>&1; then $(CARGO) clean; fi
