# make demo [IMAGES=folder] [CROP=1] [WITH=torch]   arrays cross between the installed libraries, and back
# make test [PYTEST="arguments"]                      everything that is tested, C++ and Python
# make check                                          formatting, static analysis, types
# make bench [BENCH="arguments"]                      measures, and prints each figure beside its target
# make format | clean
#
# Each of them needs python3 with venv and pip, g++ and make, and sets up the rest by itself. What is made lies in
# .venv, .venv-oracle, build and demo, and nowhere else.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
BIN := $(CURDIR)/.venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install
BUILD := build/package
REQUIREMENTS := $(wildcard requirements/*.txt)
export PATH := $(BIN):$(PATH)
# What a person has set for another Python must not reach this one.
unexport PYTHONPATH PYTHONHOME

.PHONY: demo test check format bench clean install googletest
.DEFAULT_GOAL := demo

demo: .venv/.demo
	@$(MAKE) install TESTS=OFF EXTRAS="$(WITH)"
	$(BIN)/python examples/demo.py $(if $(IMAGES),--images "$(IMAGES)") $(if $(CROP),--crop)

test: .venv/.test .venv-oracle/.oracle googletest
	@$(MAKE) install TESTS=ON
	tests/run $(PYTEST)

bench: .venv/.test .venv-oracle/.oracle
	@$(MAKE) install TESTS=OFF
	$(BIN)/python benchmarks/run.py $(BENCH)

# ----- environments -----

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.%: requirements/%.txt $(REQUIREMENTS) | .venv/bin/python
	@echo "installing requirements/$*.txt into .venv"
	$(PIP) -r $<
	touch $@

# Release 0.5.2, which the tests compare with. It borrows NumPy and PyTorch from .venv; what it has itself comes first.
.venv-oracle/.oracle: requirements/oracle.txt | .venv/.test
	@echo "installing requirements/oracle.txt into .venv-oracle"
	rm -rf .venv-oracle
	$(PYTHON) -m venv .venv-oracle
	packages='import sysconfig; print(sysconfig.get_path("purelib"))'
	$(BIN)/python -c "$$packages" >"$$(.venv-oracle/bin/python -c "$$packages")/borrowed.pth"
	.venv-oracle/bin/python -m pip --quiet --disable-pip-version-check install -r $<
	touch $@

# ----- the package, as pip installs it for anybody; the C++ tests are built in the same build folder -----

install:
	@echo "building and installing arraybridge"
	$(PIP) --no-build-isolation -c requirements/versions.txt -C build-dir=$(BUILD) \
	    -C cmake.define.ARRAYBRIDGE_TESTS=$(or $(TESTS),OFF) ".$(if $(EXTRAS),[$(EXTRAS)])"

# Debian's GoogleTest if it can be had, else CMake downloads it.
googletest:
	@for folder in /usr/include /usr/local/include; do if [[ -e $$folder/gtest/gtest.h ]]; then exit 0; fi; done
	if [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	    echo "installing libgtest-dev"
	    apt-get install -qq --yes libgtest-dev >/dev/null || { apt-get update -qq && apt-get install -qq --yes libgtest-dev >/dev/null; } || true
	fi

# ----- form -----

CPP := $(shell git ls-files '*.cpp' '*.hpp' 2>/dev/null)

check: .venv/.check
	@tests/check

format: .venv/.check
	@$(BIN)/clang-format -i $(CPP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-oracle build demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
