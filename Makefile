# What a contributor runs. Needs a Rust toolchain, Python 3 (for `bench` only) and make; everything else is fetched.

PYTHON ?= python3
DENY_VERSION := 0.20.2
# Tools are kept with the build outputs: ignored by git, gone after `cargo clean`.
TOOLS := $(CURDIR)/target/tools
export PATH := $(TOOLS)/bin:$(PATH)

EXAMPLES := quickstart custom_loss from_file

.PHONY: help test examples check fmt-check clippy doc deny deny-tool bench bench-selection fmt

help:
	@echo "make test    all tests, doc tests and examples"
	@echo "make check   formatting, lints, documentation, licences and advisories"
	@echo "make fmt     format the code"
	@echo "make bench-selection   compare a search for lambda and p with the same fits in a loop"
	@echo "make bench   compare speed with SciPy and Adam; ARGS='--sets glass' picks data sets"

# nextest runs tests of different crates side by side, but no doc tests.
test:
	@if command -v cargo-nextest >/dev/null; then \
		set -ex; cargo nextest run --workspace --locked --no-fail-fast; cargo test --workspace --locked --doc; \
	else \
		set -ex; cargo test --workspace --locked --no-fail-fast; \
	fi
	@$(MAKE) --no-print-directory examples

# Without -p, so that features (and with them the built dependencies) are those of the tests.
examples:
	@set -e; for name in $(EXAMPLES); do echo "example $$name"; cargo run --quiet --locked --example $$name; done

# Cheapest first.
check: fmt-check clippy doc deny

fmt-check:
	cargo fmt --all --check

clippy:
	cargo clippy --workspace --all-targets --locked -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked

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

.venv/ready: bench/requirements.txt
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --requirement bench/requirements.txt
	touch $@

bench: .venv/ready
	.venv/bin/python bench/compare.py $(ARGS)

bench-selection:
	cargo run --release --locked -p m3svm --example selection -- $(ARGS)

fmt:
	cargo fmt --all
