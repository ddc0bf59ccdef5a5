# `make` alone lists the targets. Everything happens in .venv, which `make setup` makes.

BIN     := .venv/bin
JOBS    ?= auto
SAMPLES ?= 360
COUNT   ?= 100000

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format bench exactness fuzz clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## install what is missing: compiler, QEMU, .venv with the command ethosgen
	@tools/setup.sh

demo: setup  ## digits on a simulated Corstone-300, checked bit for bit (SAMPLES=360)
	@$(BIN)/python demo/show.py --samples $(SAMPLES)

test: setup  ## run the whole test suite (JOBS=auto)
	@$(BIN)/pytest -n $(JOBS)

lint: setup  ## ruff and mypy --strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@MYPYPATH=generator:demo:bench:tests $(BIN)/mypy --strict demo bench
	@MYPYPATH=generator:tests:. $(BIN)/mypy --strict -p corpus

format: setup  ## let ruff format the sources
	@$(BIN)/ruff format .

bench: setup  ## measure exactness, sizes, instructions and times; writes docs/bench.md
	@$(BIN)/python bench/measure.py

exactness: setup  ## hold the NPU model against both oracles; writes docs/exactness.md
	@$(BIN)/python -m corpus table

fuzz: setup  ## damage command streams and run them on the NPU model (COUNT=100000)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/npu/npu_fuzz.py --count $(COUNT)

clean:  ## remove what was generated, but not .venv
	@rm -rf build .pytest_cache .mypy_cache .ruff_cache .hypothesis
