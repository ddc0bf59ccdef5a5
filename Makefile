# `make` alone lists the targets. They use .venv, which `make setup` creates.

BIN     := .venv/bin
# One more than there are processors: a test often waits for QEMU or for a child of its process.
JOBS    ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
SHARED  := loadfile --no-loadscope-reorder
SAMPLES ?= 360
COUNT   ?= 100000

# Without compiled files, each process of pytest rewrites all assertions and each child of a test
# compiles what it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup environments extras browser demo check test test-all lint structure format bench exactness fuzz docs clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## install what is missing: compiler, QEMU, .venv with the command ethosgen
	@tools/setup.sh

environments: extras  ## install ONNX Runtime, PyTorch, TensorFlow, TOSA's reference model, Arm Compute Library: 4 GB
	@needs=$$($(BIN)/python -m tests.support.choice --needs $(OPTIONS)) && \
		$(MAKE) --no-print-directory --jobs 3 setup $$needs

extras: setup  ## install the packages of all extras that .venv can hold
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[onnx,quantize,place,plot,sweep,convert,images,docs]'

environment-%:
	@$(BIN)/ethosgen doctor --install $*

library-acl:
	@tools/acl.sh .acl

browser:  ## install Chromium, for the tests of pages: 15 seconds
	@tools/browser.sh

demo: setup  ## run a network on a simulated Corstone-300, checked bit for bit (SAMPLES=360)
	@$(BIN)/python demo/show.py --samples $(SAMPLES)

check: $(BIN)/pytest  ## run the quick tests, without a compiler or QEMU: two minutes (JOBS=3)
	@$(BIN)/pytest -n $(JOBS) --dist $(SHARED) -m "not (slow or compiler or qemu)"

$(BIN)/pytest:
	@tools/setup.sh

test: setup  ## run the quick tests, and a chosen part with compiler and QEMU: 5 minutes (JOBS=3)
	@$(BIN)/pytest -n $(JOBS) --dist $(SHARED) --core $(OPTIONS)

test-all: setup  ## run every test: before an issue is called resolved (JOBS=3)
	@$(BIN)/pytest -n $(JOBS) --dist $(SHARED) $(OPTIONS)
	@[ -n "$(OPTIONS)" ] || $(BIN)/python -m tests.support.choice

lint: setup  ## run ruff and mypy --strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

structure: setup  ## print packages, floors and arrows, from the imports alone
	@$(BIN)/python -m tests.support.structure

format: setup  ## format the sources with ruff
	@$(BIN)/ruff format .

bench: setup  ## measure exactness, sizes, instructions and times; writes evidence/bench.md
	@$(BIN)/python -m bench

exactness: setup  ## compare the NPU model with both oracles; writes evidence/exactness.md
	@$(BIN)/python -m tests.corpus table

fuzz: setup  ## damage command streams and run them on the NPU model (COUNT=100000)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.support.npu_fuzz --count $(COUNT)

docs: setup  ## build the documentation as a site that needs no network: build/site/index.html
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo build/site/index.html

clean:  ## remove generated files, but not .venv
	@rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis
