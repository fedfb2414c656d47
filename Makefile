# Every target explains itself: `make help`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
LLM    ?= .venv-llm
RIVALS := .venv-bench
EXTRAS := local,ingest,export,loadtest,dev

.DEFAULT_GOAL := help
.PHONY: help setup llm rivals models demo test check lint types imports proto bench bench-serving clean

help: ## Show what each target does
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[1m%-13s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make the environment in .venv (torch's CPU build first: nothing pulls CUDA)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' || \
	  { echo "error: Python 3.10 to 3.12 is needed; name one: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@

llm: $(LLM)/.installed ## Make .venv-llm, in which language models are built (their libraries clash with the rest)

rivals: $(RIVALS)/.installed ## Make .venv-bench: what bench-serving compares Triton with (their pins clash with ours)

$(LLM)/.installed: ONLY := llm
$(RIVALS)/.installed: ONLY := bench
$(LLM)/.installed $(RIVALS)/.installed: pyproject.toml
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(@D)/bin/pip install --quiet --disable-pip-version-check '.[$(ONLY)]'
	@touch $@

models: $(STAMP) ## Make the models that Triton serves (a minute or two; quick the second time)
	$(BIN)/trias models build

demo: models ## From a fresh clone to first answers: models, Triton, the examples, six questions, a clean stop
	$(BIN)/python scripts/demo.py

test: check models ## Everything that continuous integration runs
	$(BIN)/pytest

check: lint types imports ## Style, types and the direction of imports

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy orchestrator ingest export deploy evaluation finetune loadtest scripts

imports: $(STAMP)
	$(BIN)/lint-imports --no-cache

proto: $(STAMP) ## Generate the Python of the contract again
	$(BIN)/python scripts/generate_proto.py

bench: models ## Load-test a stack that it starts itself; prints each stage's share against its limit
	$(BIN)/python -m loadtest.bench

bench-serving: models rivals ## The embedder's throughput on Triton beside onnxruntime, sentence-transformers and infinity
	$(BIN)/python -m loadtest.serving_bench $(ARGS)

clean: ## Remove what Trias and its tools wrote, but neither the environment nor the models
	rm -rf .trias .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
