# What a contributor runs. Needs a Rust toolchain, Python 3 with venv, and make; everything else is fetched.

PYTHON ?= python3
DENY_VERSION := 0.20.2
# Tools are kept with the build outputs: ignored by git, gone after `cargo clean`.
TOOLS := $(CURDIR)/target/tools
export PATH := $(TOOLS)/bin:$(PATH)
# Python packages for the tests, in the versions of python/constraints.txt.
VENV := $(CURDIR)/target/venv
# PyTorch, in an environment of its own, with python/constraints-torch.txt as well.
TORCH := $(CURDIR)/target/venv-torch
# Spark, which wants an older pandas, in one too, with python/constraints-spark.txt.
SPARK := $(CURDIR)/target/venv-spark
# What it takes there, and while it is fetched.
TORCH_GB := 9
# Made by `make stubs`.
STUB := python/m3svm/_core.pyi
# What is formatted and linted there.
PYTHON_FOLDERS := python docs/python examples/python fuzz/python
# What is tested from Rust.
RUST := --workspace --exclude m3svm-python
# The bindings are checked without an interpreter: they are the same for all of them.
WITHOUT_PYTHON := PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1

# What is behind CUDA is checked with everything else; that needs no CUDA. Tests are built without: it would cost them minutes.
CUDA := --features m3svm-deep/cuda

# Inputs per target, and rounds at the border of Python, where there is little time.
FUZZ_RUNS := 200000
FUZZ_SEED := 1
FUZZ_ROUNDS := 1500
# Tables and settings for the program.
FUZZ_TABLES := 100

EXAMPLES := quickstart custom_loss from_file

.PHONY: bench-defaults help test test-rust test-python test-wheel test-torch test-spark python-build stubs stubs-made docs examples check fmt-check clippy doc deny deny-tool python-check bench bench-atlas bench-rivals bench-python bench-selection fingerprint fmt fuzz fuzz-short attack faults

help:
	@echo "make test    all tests, doc tests and examples"
	@echo "make test-torch        the losses for PyTorch, which is fetched (3 GB); afterwards a part of make test"
	@echo "make test-spark        the estimator for Spark, which is fetched (0.5 GB) and needs Java 17; afterwards a part of make test"
	@echo "make faults  kills, signals, full disks and broken pipes at random moments; MINUTES=10 goes on for longer"
	@echo "make check   formatting, lints, documentation, licences and advisories"
	@echo "make docs    the documentation of the Python package, in target/docs"
	@echo "make stubs   write the types of the extension module anew, after a change of its functions"
	@echo "make fmt     format the code"
	@echo "make fuzz MINUTES=14   throw damaged inputs at every reader and parser; TARGET=csv picks one, RUNS=1000000 counts inputs"
	@echo "make bench-atlas       compare speed on a grid of made shapes of data with the best of the others"
	@echo "make bench-python      compare the Python package with scikit-learn, LIBLINEAR and gensvm"
	@echo "make bench-defaults    compare what nobody has tuned with tuned models and with scikit-learn's defaults"
	@echo "make bench-selection   compare a search for lambda and p with the same fits in a loop"
	@echo "make bench-rivals      compare speed with LIBLINEAR, LIBSVM and scikit-learn on the methods they share"
	@echo "make fingerprint       a hash of the bits of some 200 fits, to compare before and after a change"
	@echo "make attack  try to get below lower bounds; COUNT=100000 SEED=1 says how often and where"
	@echo "make bench   compare speed with SciPy and Adam; ARGS='--sets glass' picks data sets"

# With PyTorch and Spark where they have been fetched.
test: test-rust test-python test-wheel $(if $(wildcard $(TORCH)/ready),test-torch) $(if $(wildcard $(SPARK)/ready),test-spark)

# nextest runs tests of different crates side by side, but no doc tests. The bindings are tested from Python.
test-rust:
	@if command -v cargo-nextest >/dev/null; then \
		set -ex; cargo nextest run $(RUST) --locked --no-fail-fast; cargo test $(RUST) --locked --doc; \
	else \
		set -ex; cargo test $(RUST) --locked --no-fail-fast; \
	fi
	@$(MAKE) --no-print-directory examples

# Built with the packages of the tests: `cargo run` would choose other features, and build large dependencies again.
examples:
	cargo build --quiet --locked $(RUST) $(addprefix --example ,$(EXAMPLES))
	@set -e; for name in $(EXAMPLES); do echo "example $$name"; $${CARGO_TARGET_DIR:-target}/debug/examples/$$name; done

# Part of the tests, but for longer and with its counts. With the features of the other tests, so that nothing is built again.
faults:
	M3SVM_FAULT_MINUTES=$(or $(MINUTES),0.7) cargo test $(RUST) --locked --quiet --test faults -- --nocapture

# Models are exchanged with the program if `test-rust` has built it.
test-python: python-build stubs-made
	diff -u $(STUB) target/stubs/m3svm/_core.pyi || { echo "the stub is not that of the bindings: run make stubs"; exit 1; }
	$(VENV)/bin/stubtest m3svm._core
	$(VENV)/bin/python -m pytest --quiet

python-build: $(VENV)/ready
	VIRTUAL_ENV=$(VENV) $(VENV)/bin/maturin develop --quiet --locked

# The types of the extension module, as the bindings say them.
stubs: stubs-made
	cp target/stubs/m3svm/_core.pyi $(STUB)

# They are read from the extension module of `python-build`; nothing is compiled twice.
stubs-made: python-build
	VIRTUAL_ENV=$(VENV) $(VENV)/bin/maturin generate-stubs --quiet --locked --out target/stubs
	$(VENV)/bin/ruff format --quiet --config pyproject.toml target/stubs/m3svm/_core.pyi

# The package as users get it, in an environment with nothing else. In the dev profile, which `test-python` has built
# already: optimising again would take minutes and test nothing new. The same for the source distribution: whether it
# is complete, cargo says without compiling it.
test-wheel: $(VENV)/ready
	rm -rf target/wheel
	$(VENV)/bin/maturin build --quiet --locked --out target/wheel
	$(VENV)/bin/maturin sdist --out target/wheel
	cd target/wheel && tar -xzf m3svm-*.tar.gz && cargo metadata --quiet --format-version 1 --manifest-path m3svm-*/Cargo.toml >sdist.json
	$(PYTHON) -m venv target/wheel/venv
	target/wheel/venv/bin/pip install --quiet --disable-pip-version-check --constraint python/constraints.txt target/wheel/*.whl
	cd target/wheel && venv/bin/python -I $(CURDIR)/python/smoke.py

# Compiled code is that of `test-python`. The kernel for CUDA runs on the CPU, in the interpreter of Triton.
test-torch: python-build
	@if $(MAKE) --no-print-directory $(TORCH)/ready; then \
		set -ex; export PYTHONPATH=$(CURDIR)/python; \
		$(TORCH)/bin/python -m pytest --quiet python/tests/test_torch.py python/m3svm/torch; \
		TRITON_INTERPRET=1 $(TORCH)/bin/python -m pytest --quiet python/tests/test_torch_fused.py; \
	else \
		echo "LEFT OUT: the losses for PyTorch were not tested, because it could not be installed (see above)"; \
	fi

# Compiled code is that of `test-python`. Without Java nothing is fetched.
test-spark: python-build
	@if ! command -v java >/dev/null; then \
		echo "LEFT OUT: Spark was not tested, because there is no Java 17 (Debian: openjdk-17-jre-headless)"; \
	elif $(MAKE) --no-print-directory $(SPARK)/ready; then \
		set -ex; export PYTHONPATH=$(CURDIR)/python; \
		$(SPARK)/bin/python -m pytest --quiet python/tests/test_spark.py; \
	else \
		echo "LEFT OUT: Spark was not tested, because it could not be installed (see above)"; \
	fi

$(SPARK)/ready: python/constraints.txt python/constraints-spark.txt
	$(PYTHON) -m venv --clear $(SPARK)
	grep -v '^pandas==' python/constraints.txt >$(SPARK)/constraints.txt
	$(SPARK)/bin/pip install --quiet --disable-pip-version-check --constraint $(SPARK)/constraints.txt \
		--constraint python/constraints-spark.txt pytest scikit-learn pyarrow pandas pyspark
	touch $@

# Without dependencies, since those of torch are larger than what it takes to import it.
$(TORCH)/ready: python/constraints.txt python/constraints-torch.txt
	@free=$$(df -Pk target | awk 'NR == 2 { print int($$4 / 1048576) }'); \
		[ "$$free" -ge $(TORCH_GB) ] || { echo "PyTorch needs $(TORCH_GB) GB, and there are $$free"; exit 1; }
	$(PYTHON) -m venv --clear $(TORCH)
	$(TORCH)/bin/pip install --quiet --disable-pip-version-check --constraint python/constraints.txt \
		pytest scikit-learn Jinja2 typing_extensions
	$(TORCH)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --requirement python/constraints-torch.txt
	touch $@

# Warnings are errors: a reference that leads nowhere, a page that nobody can find.
docs: python-build
	$(VENV)/bin/python docs/python/figures.py docs/python/figures
	$(VENV)/bin/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs/python target/docs

$(VENV)/ready: python/constraints.txt
	$(PYTHON) -m venv --clear $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --requirement python/constraints.txt
	touch $@

# Cheapest first.
check: fmt-check python-check clippy doc deny

fmt-check:
	cargo fmt --all --check

clippy:
	$(WITHOUT_PYTHON) cargo clippy --workspace $(CUDA) --all-targets --locked -- -D warnings

doc:
	$(WITHOUT_PYTHON) RUSTDOCFLAGS="-D warnings" cargo doc --workspace $(CUDA) --no-deps --document-private-items --locked

# Formatting, lints and types of the Python package.
python-check: $(VENV)/ready
	$(VENV)/bin/ruff format --check $(PYTHON_FOLDERS)
	$(VENV)/bin/ruff check $(PYTHON_FOLDERS)
	$(VENV)/bin/mypy

# Advisories are a repository that has to be fetched; a machine that cannot reach it checks the rest.
deny: deny-tool
	cargo deny --locked check --hide-inclusion-graph licenses bans sources
	@if cargo deny --locked fetch db; then \
		set -ex; cargo deny --locked check --disable-fetch --hide-inclusion-graph advisories; \
	else \
		echo "LEFT OUT: advisories were not checked, because their database could not be fetched (see above)"; \
	fi

# A debug build: sooner ready, and it checks within seconds all the same.
deny-tool:
	@command -v cargo-deny >/dev/null || \
		cargo install cargo-deny --version $(DENY_VERSION) --locked --debug --no-default-features --root $(TOOLS)

.PHONY: fuzz fuzz-short

# Guided by the code that inputs reach; built for that in target/fuzz, where findings are kept too.
fuzz: python-build
	MINUTES=$(MINUTES) RUNS=$(RUNS) TARGET=$(TARGET) fuzz/run

# With what the tests have built: random damage, the same in every run.
fuzz-short: python-build
	M3SVM_FUZZ_RUNS=$(FUZZ_RUNS) M3SVM_FUZZ_SEED=$(FUZZ_SEED) cargo test $(RUST) --locked --test short -- --test-threads 2
	$(VENV)/bin/python fuzz/python/border.py --rounds $(FUZZ_ROUNDS)
	@# With an example, whose features are those of the tests: nothing large is built again.
	cargo build $(RUST) --locked --bin m3svm --example quickstart
	$(VENV)/bin/python fuzz/python/program.py target/debug/m3svm --runs $(FUZZ_TABLES) --seed $(FUZZ_SEED)

.venv/ready: bench/requirements.txt
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --requirement bench/requirements.txt
	touch $@

bench: .venv/ready
	.venv/bin/python bench/compare.py $(ARGS)

# Goes on where an interrupted run stood: finished measurements are lines of rivals.jsonl.
bench-rivals: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --quiet --release
	.venv/bin/python bench/rivals.py --out target/rivals.jsonl $(ARGS)

# Shapes of data instead of data sets; a day for all of them, minutes with ARGS=--small. Goes on where an interrupted run stood.
bench-atlas: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --quiet --release --locked
	.venv/bin/python bench/atlas.py --out target/atlas.jsonl $(ARGS)
	.venv/bin/python bench/atlas.py --out target/atlas.jsonl --report target/ATLAS.md --picture target/atlas.svg

# Single precision, unseen rows and gensvm. Goes on where an interrupted run stood.
bench-python: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --quiet --release --locked
	.venv/bin/python bench/python_peers.py --out target/peers.jsonl $(ARGS)

# What is lost by not tuning. Goes on where an interrupted run stood; the rows that it measures do not depend on the machine.
bench-defaults: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --quiet --release --locked
	.venv/bin/python bench/defaults.py --out bench/defaults.jsonl $(ARGS)
	.venv/bin/python bench/defaults.py --out bench/defaults.jsonl --table > bench/DEFAULTS.md

bench-selection:
	cargo run --release --locked -p m3svm --example selection -- $(ARGS)

# One line per fit with a hash of its bits: a change that is to change no result is run before and after it.
fingerprint:
	cargo run --quiet --locked -p m3svm --example fingerprint

# How many problems are attacked, three bounds each, and which ones.
COUNT ?= 2000
SEED ?= 1

attack:
	M3SVM_ATTACKS=$(COUNT) M3SVM_SEED=$(SEED) cargo test --release --locked -p m3svm --test it -- --nocapture --exact attack::no_attack_gets_below_a_bound

fmt: $(VENV)/ready
	cargo fmt --all
	$(VENV)/bin/ruff format $(PYTHON_FOLDERS)
