# make demo    sets everything up and runs the main job on real digits
# make test    sets everything up and runs the tests
# make lint    linters, formatters and the type checker
# make sanitize  the C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(shell nvidia-smi >/dev/null 2>&1 && echo gpu || echo cpu)
CPP_SOURCES := $(shell find custom_ops -type f)
ZOO_FILES := $(shell find models -type f)
PYTEST_ARGS ?= -n 2

.PHONY: demo test lint format sanitize setup clean

demo: setup
	$(BIN)/bnndeploy demo

test: setup
	$(BIN)/python -m pytest $(PYTEST_ARGS)

setup: $(VENV)/.ready

$(VENV)/.ready: $(VENV)/.packages $(CPP_SOURCES) $(ZOO_FILES)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.packages: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.10" "cmake>=3.22" "ninja>=1.11"
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev,$(RUNTIME)]"
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	git ls-files '*.h' '*.cc' '*.cu' '*.cuh' | xargs -r $(BIN)/clang-format --dry-run --Werror

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files '*.h' '*.cc' '*.cu' '*.cuh' | xargs -r $(BIN)/clang-format -i

sanitize: setup
	$(BIN)/cmake -S custom_ops -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DBNN_SANITIZE=address,undefined -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
	$(BIN)/cmake --build build/sanitize
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure

clean:
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache
