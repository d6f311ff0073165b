# make lab     open the first notebook in JupyterLab; LAB_ARGS=--no-browser prints its address instead
# make test    style, types, the tests nearest to what has changed since it passed, and the fast part: what has to pass
# make test-all  style, types and all tests that are not slow, which CI runs
# make check   style, types and the tests nearest to what has changed, in a minute
# make slow    the tests marked slow
# make patrol  the slow tests of today, which CI runs: each has one day of seven; DAY=2026-11-26 chooses, LIST=1 only prints
# make mutants  which changes of our functions the tests notice; STEP=coverage (first), fast-part, draw, run, report
# make durations  record what the slow tests took that ran here: the patrol plans its days by it
# make unsteady  record the tests that passed only when they were run again, here or in the log of CI that LOG names
# make judge   every public function compared with jax: 20,000 calls; SEED=… CALLS=… ONLY=… choose others
# make fuzz    random programs of each kind: reductions, effects, programs under derivatives; SEED=… COUNT=… KINDS=… choose
# make answers keep what jax answers to the questions that are new, in tests/answers_of_jax
# make matrix  the tests on each Python and jaxlib that we say we run on; PARTS=… names parts, PYTHONS=3.13 chooses
# make names   write what follows from the lists of public names; print how many of jax's are here, module by module
# make format  format Python, JavaScript and styles
# make front-types  the types of the front end's JavaScript; needs npx (Node), which nothing else here does
# make notebooks  run the notebooks and keep what they show in the files; BOOK=notebooks/01_… (or several) makes these alone
# make docs    the pages, the notebooks and the reference as a site: build/docs/html/index.html
# make pictures    the forty pictures of the panel that the tests compare; before and after: build/pictures/changes.html
# make doc-images  the pictures in docs/images
# make wheel   what pip installs, into dist/
# make bench   side by side with jax, into bench/RESULTS.md; CASE=mlp_trace (or several) alone; SINCE=REV: with a revision
# make guard   whether tracing has become more expensive, in instructions of Python
#
# Everything lives in .venv, made with PYTHON (3.11 or newer): make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NOTEBOOK ?= notebooks/01_see_a_training_step.ipynb
PYTEST_ARGS ?=
FRONT_END := widgets/xlascope_widgets/static
TYPESCRIPT ?= typescript@5.9.3
LAB_ARGS ?=
PARALLEL := --numprocesses auto --maxprocesses 4 --dist worksteal
# Tests that drive browsers and kernels leave half of the time of two processes on two cores unused.
WAITING := --numprocesses 3 --dist worksteal

# In a container one is often root, and JupyterLab asks to be told that it may run so.
ALLOW_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: lab test test-all check style format types front-types pytest pytest-near pytest-fast slow patrol mutants durations unsteady judge fuzz answers matrix names notebooks docs pictures doc-images wheel bench guard clean
.DELETE_ON_ERROR:

lab: $(VENV)/.installed-lab
	@echo "Starting JupyterLab with $(NOTEBOOK); Ctrl+C twice ends it"
	@$(BIN)/python -m jupyterlab --ServerApp.ip=127.0.0.1 $(ALLOW_ROOT) --LabApp.default_url="/lab/tree/$(NOTEBOOK)" $(LAB_ARGS)

test: style types pytest-near pytest-fast
	$(BIN)/python -m tests.passed

test-all: style types pytest

check: style types
	$(BIN)/python -m tests.nearby

style: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxfmt --config widgets/.oxfmtrc.json --check $(FRONT_END) >/dev/null || \
	  { echo "the front end is not formatted: make format"; exit 1; }
	$(BIN)/oxlint --config widgets/.oxlintrc.json --deny-warnings --quiet $(FRONT_END)

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .
	$(BIN)/oxfmt --config widgets/.oxfmtrc.json $(FRONT_END)

types: $(VENV)/.installed-test
	$(BIN)/mypy

front-types:
	npx --yes --package $(TYPESCRIPT) tsc --project widgets/tsconfig.json

# Python may keep what it compiles, wherever it is told not to: each process reads hundreds of files.
PYTHON_CACHED := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python
PYTEST := $(PYTHON_CACHED) -m pytest
# pytest, and again what failed, each test alone and once: see tests/rerun.py.
RERUN := $(PYTHON_CACHED) -m tests.rerun

# First those that keep the cores busy, then those that drive browsers, kernels and profilers and wait for these: three
# share the machine. PYTEST_ARGS names tests to run instead.
pytest: $(VENV)/.installed-test
ifeq ($(PYTEST_ARGS),)
	$(RERUN) $(PARALLEL) -m "not slow and not live"
	$(RERUN) $(WAITING) -m "not slow and live"
else
	$(PYTEST) $(PYTEST_ARGS)
endif

# The tests nearest to what has changed since `make test` passed: see tests/nearby.py.
pytest-near: $(VENV)/.installed-test
	$(PYTHON_CACHED) -m tests.nearby --live --seconds 60

# The same as pytest without thorough tests: see tests/thorough.py.
pytest-fast: $(VENV)/.installed-test
	$(RERUN) $(PARALLEL) -m "not slow and not thorough and not live"
	$(RERUN) $(WAITING) -m "not slow and not thorough and live"

# Those that drive browsers, kernels and profilers come first, one at a time: they are few.
slow: $(VENV)/.installed-test
	$(RERUN) -m "slow and live" $(PYTEST_ARGS)
	$(RERUN) $(PARALLEL) -m "slow and not live" $(PYTEST_ARGS)

DAY ?= $(shell date +%F)
patrol: $(VENV)/.installed-test
	$(PYTHON_CACHED) -m tests.patrol --day "$(DAY)" $(if $(LIST),--list) \
	  $(if $(STOP_AFTER),--seconds $(STOP_AFTER)) -- $(PARALLEL)

STEP ?= report
mutants: $(VENV)/.installed-test $(VENV)/.installed-mutation
	$(BIN)/python -m tests.mutation $(STEP)

durations: $(VENV)/.installed-test
	$(BIN)/python -m tests.durations

unsteady: $(VENV)/.installed-test
	$(BIN)/python -m tests.unsteady $(LOG)

SEED ?= 0
CALLS ?= 20000
judge: $(VENV)/.installed-test
	$(BIN)/python -m tests.differential run --seed $(SEED) --calls $(CALLS) --only "$(ONLY)"

COUNT ?= 300
KINDS ?=
fuzz: $(VENV)/.installed-test
	$(BIN)/python -m tests.fuzz $(KINDS) --seed $(SEED) --count $(COUNT)

# The tests ask; what no test asks for any more is removed.
answers: $(VENV)/.installed-test
	rm -f build/oracle/asked
	XLASCOPE_TESTS_ANSWERS=keep $(PYTEST) $(PARALLEL) -m "not slow and not live" tests/core tests/everyday
	$(BIN)/python -m tests.answers tidy

matrix: $(VENV)/.installed-test
	$(BIN)/python -m tests.matrix $(if $(PYTHONS),--environments $(PYTHONS)) $(if $(PARTS),--parts $(PARTS))

names: $(VENV)/.installed-test
	$(BIN)/python tests/public_names.py

notebooks: $(VENV)/.installed-test
	$(BIN)/python -m notebooks.making $(BOOK)

docs: $(VENV)/.installed-test
	$(BIN)/python -m docs.making

pictures: $(VENV)/.installed-test
	$(BIN)/python -m tests.browser.pictures

doc-images: $(VENV)/.installed-test
	$(BIN)/python -m tests.browser.doc_images

wheel: | $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

bench: $(VENV)/.installed-bench
	$(BIN)/python -m bench $(CASE) $(if $(SINCE),--since $(SINCE))

guard: $(VENV)/.installed-test
	$(BIN)/python -m bench.guard

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache

# One stamp per extra: an install runs again only when pyproject.toml has changed.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@echo "Installing xlascope[$*] into $(VENV): about a minute, once"
	@$(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@

# The compilers of GPUs and TPUs are no extra: where pip installs, `import jax` would start them.
$(VENV)/.installed-targets: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m xlascope targets --install
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'xlascope needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...' >&2; exit 1; }
	@echo "Making an environment in $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)
