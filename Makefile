# Everything happens in .venv, made on first use. A stamp in .venv records what is installed, so
# nothing is done twice; editing pyproject.toml or constraints.txt makes the stamps stale.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Pinned versions; the build backend is in .venv too, so that pip needs no second environment for it.
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
INSTALL = $(PIP) install -c constraints.txt --no-build-isolation
# A process to a core, a file to a process: what the tests of a file share is built once.
PYTEST  = $(BIN)/python -m pytest -n auto --dist loadfile

export PIP_ROOT_USER_ACTION := ignore
# Tests start hundreds of processes; where nobody keeps bytecode, each compiles all sources again.
export PYTHONDONTWRITEBYTECODE :=
# A notice about the tool's future, not about our pages.
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all test-portable test-busy test-v2 test-v3 test-native test-no-compiler test-bridges \
  test-sanitize fuzz lint format bench bench-mpc bench-aerial bench-control bench-contact bench-identify bench-study \
  bench-bridges thesis docs docs-serve wheel clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo  ## adaptive MPC of a Panda with an unmodelled load; report in demo/report.html
	@$(BIN)/helicoid demo

test: $(VENV)/.dev  ## run the tests, a few minutes at most
	@echo "Testing"
	@$(PYTEST) -m "not slow"

test-all: $(VENV)/.dev  ## with the long sweeps, half an hour; a quarter of them: make test-all PART=2/4
	@echo "Testing, long sweeps included$(if $(PART), (part $(PART)))"
	@HYPOTHESIS_PROFILE=thorough $(PYTEST) $(if $(PART),--part $(PART))

# Each of these is the whole suite, once for a kind of machine; TESTS names a part of it: make test-v2 TESTS=tests/mpc
TESTS ?=
SUITE  = $(PYTEST) -m "not slow" $(TESTS)

test-portable: test-busy test-v2 test-v3 test-native test-no-compiler  ## the suite as on other machines, an hour

test-busy: $(VENV)/.dev  ## three times in a row with two busy loops beside it
	@echo "Testing three times beside two busy loops"
	@for loop in 1 2; do $(BIN)/python -c 'while True: pass' & busy="$$busy $$!"; done; \
	  trap 'kill $$busy' EXIT; for round in 1 2 3; do $(SUITE) || exit 1; done

test-v2 test-v3: test-%: $(VENV)/.dev  ## code for x86-64-v2 (2 lanes) or x86-64-v3 (4)
	@echo "Testing with code for x86-64-$*"
	@HELICOID_MARCH=x86-64-$* $(SUITE)

test-bridges: $(VENV)/.bridges  ## functions in JAX and PyTorch, in an environment of their own
	@echo "Testing bridges to JAX and PyTorch"
	@PYTHONPATH=src $(VENV)/bridges/bin/python -m pytest -rs tests/compiler/bridges tests/test_docs.py \
	  -k "bridges or learning"

test-native: $(VENV)/.dev
	@echo "Testing with code for this processor"
	@HELICOID_MARCH=native $(SUITE)

test-no-compiler: $(VENV)/.dev  ## as where no C compiler can be run
	@echo "Testing without a compiler"
	@CC=no-compiler $(SUITE)

# gcc's sanitizers for what Python loads need their library loaded first. Python itself never frees some memory.
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZED   = CC="gcc $(SANITIZERS)" LD_PRELOAD=$$(gcc -print-file-name=libasan.so):$$(gcc -print-file-name=libubsan.so) \
  ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 PYTHONMALLOC=malloc

test-sanitize: $(VENV)/.dev $(VENV)/.zig  ## C runtimes and generated code under sanitizers, and on aarch64
	@command -v qemu-aarch64 >/dev/null || echo "qemu-aarch64 is missing (Debian: apt install qemu-user): no aarch64"
	@echo "Testing the extension and the solver under sanitizers"
	@$(SANITIZED) $(BIN)/python -m pytest -p no:faulthandler -m "not slow" \
	  -k "not cannot_be_started and not grows and not leaks" \
	  tests/compiler/build/test_binding.py tests/compiler/test_iteration.py tests/compiler/code/test_c_source.py
	@echo "Testing the loops of control under sanitizers"
	@$(SANITIZED) $(BIN)/python -m pytest -p no:faulthandler -m "not slow" \
	  tests/control/qp/test_program.py tests/control/qp/test_lexicographic.py tests/control/timing tests/control/ik \
	  tests/control/test_inverse_kinematics.py tests/control/differential/test_differential.py \
	  tests/control/whole_body/test_whole_body.py tests/control/test_absurd_numbers.py
	@echo "Testing programs in C under sanitizers and on aarch64"
	@$(BIN)/python -m pytest -rs tests/portable

STEPS ?= 100000
fuzz: $(VENV)/.dev  ## garbage numbers and states into DifferentialIK and WholeBody under sanitizers: make fuzz STEPS=1000000
	@$(SANITIZED) $(BIN)/python -m tests.control.number_fuzz --steps $(STEPS)

lint: $(VENV)/.dev  ## check style, types and the direction of imports
	@echo "Checking style"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@echo "Checking types"
	@$(BIN)/mypy --no-error-summary src
	@echo "Checking the direction of imports"
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.dev  ## fix what can be fixed by itself
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format .

bench: $(VENV)/.bench  ## time everything beside peers, half an hour; tables and plots in benchmarks/results/
	@$(BIN)/python -m benchmarks.operations
	@$(BIN)/python -m benchmarks.run

bench-mpc: $(VENV)/.bench $(VENV)/.crocoddyl  ## time model predictive control beside Crocoddyl, some minutes
	@HELICOID_CROCODDYL=$(VENV)/crocoddyl/bin/python $(BIN)/python -m benchmarks.mpc $(if $(QUICK),--quick)

bench-control: $(VENV)/.bench $(VENV)/.control  ## time inverse and differential kinematics beside peers, some minutes
	@HELICOID_CONTROL_PEERS=$(VENV)/peers/bin/python $(BIN)/python -m benchmarks.control.inverse_kinematics
	@HELICOID_PLACO=$(VENV)/placo/bin/python HELICOID_PINK=$(VENV)/pink/bin/python \
	  $(BIN)/python -m benchmarks.control.differential
	@$(BIN)/python -m benchmarks.control.quadratic_programs
	@$(BIN)/python -m benchmarks.control.time_optimal
	@$(BIN)/python -m benchmarks.control.laws
	@HELICOID_TSID=$(VENV)/tsid/bin/python HELICOID_PLACO=$(VENV)/placo/bin/python \
	  $(BIN)/python -m benchmarks.control.whole_body

bench-aerial: $(VENV)/.bench $(VENV)/.aerial  ## time flight beside RotorPy and JSBSim, some minutes
	@HELICOID_AERIAL_PEERS=$(VENV)/aerial/bin/python $(BIN)/python -m benchmarks.aerial.flight
	@$(BIN)/python -m benchmarks.aerial.propellers

bench-contact: $(VENV)/.bench $(VENV)/.dev  ## time a quadruped on its feet beside MuJoCo, a minute
	@$(BIN)/python -m benchmarks.contact

bench-identify: $(VENV)/.bench $(VENV)/.dev  ## time identification beside Pinocchio, a minute
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.identification

bench-study: $(VENV)/.bench $(VENV)/.dev  ## studies on one and two processes, 100,000 closed loops, some minutes
	@$(BIN)/python -m benchmarks.study $(if $(QUICK),--quick)

bench-bridges: $(VENV)/.bridges  ## what JAX and PyTorch add to a call, some seconds
	@PYTHONPATH=src $(VENV)/bridges/bin/python -m benchmarks.bridges

thesis: $(VENV)/.bench  ## tables of two theses with our figures beside the published ones, half an hour; QUICK=1: minutes
	@$(BIN)/python -m benchmarks.theses $(if $(QUICK),--quick)

docs: $(VENV)/.docs  ## build the documentation into site/
	@echo "Building the documentation"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # not --quiet, which keeps warnings from being counted
	@echo "Open site/index.html"

docs-serve: $(VENV)/.docs  ## serve the documentation on this machine, reloading on change
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --dev-addr 127.0.0.1:8000

wheel: $(VENV)/.dev  ## build the wheel into dist/
	@echo "Building the wheel"
	@$(BIN)/python -m build --wheel --no-isolation --quiet --outdir dist .

clean:  ## remove .venv and everything built
	@rm -rf $(VENV) build dist site demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# --- what is installed -------------------------------------------------------------------------------

$(VENV)/.base: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "The pinned versions need Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1)."; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -c constraints.txt hatchling editables
	@touch $@

# Peers without wheels for every machine, and without the dependencies that dynamics does not need. One that
# cannot be installed is missing in the tables, no more.
PEERS := urdf2casadi drake pybullet
install_peer = $(INSTALL) --no-deps --only-binary :all: $(1) || echo "$(1) cannot be installed here";

$(VENV)/.demo: EXTRAS := plot
$(VENV)/.dev: EXTRAS := dev
$(VENV)/.docs: EXTRAS := docs
$(VENV)/.bench: EXTRAS := bench

$(VENV)/.demo $(VENV)/.dev $(VENV)/.docs $(VENV)/.bench: $(VENV)/.base pyproject.toml constraints.txt
	@echo "Installing helicoid[$(EXTRAS)] into $(VENV)"
	@$(INSTALL) -e '.[$(EXTRAS)]'
	@$(if $(filter bench,$(EXTRAS)),$(foreach peer,$(PEERS),$(call install_peer,$(peer))))
	@touch $@

# A compiler for other processors; where there is none to be had, what needs it is skipped.
$(VENV)/.zig: $(VENV)/.base constraints.txt
	@$(INSTALL) --only-binary :all: ziglang || echo "ziglang cannot be installed here: no aarch64"
	@touch $@

$(VENV)/.bridges: $(VENV)/.base tests/compiler/bridges/packages.txt
	@echo "Installing JAX and PyTorch into $(VENV)/bridges"
	@$(PYTHON) -m venv $(VENV)/bridges
	@$(VENV)/bridges/bin/python -m pip --disable-pip-version-check -q install -r tests/compiler/bridges/packages.txt
	@touch $@

$(VENV)/.aerial: $(VENV)/.base benchmarks/aerial/peers.txt
	@echo "Installing RotorPy and JSBSim into $(VENV)/aerial"
	@$(PYTHON) -m venv $(VENV)/aerial
	@$(VENV)/aerial/bin/python -m pip --disable-pip-version-check -q install -r benchmarks/aerial/peers.txt
	@touch $@

$(VENV)/.crocoddyl: $(VENV)/.base benchmarks/crocoddyl.txt
	@echo "Installing Crocoddyl into $(VENV)/crocoddyl"
	@$(PYTHON) -m venv $(VENV)/crocoddyl
	@$(VENV)/crocoddyl/bin/python -m pip --disable-pip-version-check -q install -r benchmarks/crocoddyl.txt
	@touch $@

# Peers of control, which want versions that exclude each other; one that cannot be installed is told and left out.
CONTROL_PEERS := peers placo pink tsid
install_control = $(PYTHON) -m venv $(VENV)/$(1) && $(VENV)/$(1)/bin/python -m pip --disable-pip-version-check -q \
  install -r benchmarks/control/$(1).txt || echo "$(1).txt cannot be installed here";

$(VENV)/.control: $(VENV)/.base $(CONTROL_PEERS:%=benchmarks/control/%.txt)
	@echo "Installing peers of control into $(CONTROL_PEERS:%=$(VENV)/%)"
	@$(foreach peer,$(CONTROL_PEERS),$(call install_control,$(peer)))
	@touch $@
