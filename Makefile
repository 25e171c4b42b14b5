# make demo    sets everything up and runs the main job on real digits
# make test    sets everything up and runs the tests
# make lint    linters, formatters and the type checker
# make sanitize  the C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
# make sanitize-threads  the C++ tests, which split work by threads, under ThreadSanitizer
# make test-cuda-on-host  the CUDA operators and kernels, compiled for the host
# make sanitize-cuda-threads  some of these under ThreadSanitizer
# make test-cuda-faults   plants faults in those kernels, each of which the tests must catch
# make test-gpu, make bench-gpu  tests and benchmarks that need an NVIDIA device
# make test-aarch64  cross-builds for ARM and tests that under emulation; wants the packages
#                    g++-aarch64-linux-gnu and qemu-user

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(shell nvidia-smi >/dev/null 2>&1 && echo gpu || echo cpu)
CPP_SOURCES := $(shell find custom_ops -type f)
AARCH64 := build/aarch64
ZOO_FILES := $(shell find models -type f)
PYTEST_ARGS ?= -n 2

.PHONY: demo test lint format sanitize sanitize-threads sanitize-cuda-threads test-aarch64 \
  test-cuda-on-host test-cuda-faults test-gpu bench-gpu setup clean

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
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.11" "cmake>=3.22" "ninja>=1.11"
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

# The kernels alone, then whole sessions on malformed models; Python itself leaks at exit.
sanitize: setup
	$(BIN)/cmake -S custom_ops -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	  -DBNN_TESTS=ON -DBNN_SANITIZE=address,undefined
	$(BIN)/cmake --build build/sanitize
	build/sanitize/bnn_kernels_test
	ASAN_OPTIONS=detect_leaks=0 BNNDEPLOY_LIBRARY=$(abspath build/sanitize/libbnndeploy_ops.so) \
	  LD_PRELOAD="$(shell $(CXX) -print-file-name=libasan.so) $(shell $(CXX) -print-file-name=libstdc++.so.6)" \
	  $(BIN)/python -m pytest -q tests/ops/test_altered_nodes.py tests/ops/test_bad_input.py \
	  tests/ops/test_shape_inference.py

# Without address randomisation, which older versions of ThreadSanitizer cannot map around.
sanitize-threads: setup
	$(BIN)/cmake -S custom_ops -B build/sanitize_threads -G Ninja \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	  -DBNN_TESTS=ON -DBNN_SANITIZE=thread
	$(BIN)/cmake --build build/sanitize_threads --target bnn_kernels_test
	setarch -R build/sanitize_threads/bnn_kernels_test

# The operators as ONNX Runtime runs them on the CUDA provider.
OPERATOR_TESTS := $(addprefix tests/ops/test_,products.py product_tiles.py elementwise.py \
  pack_unpack.py max_pool_bits.py bad_input.py shape_inference.py altered_nodes.py)
HAS_GPU := nvidia-smi >/dev/null 2>&1

test-cuda-on-host: setup
	$(BIN)/cmake -S custom_ops -B build/cuda_on_host -G Ninja -DCMAKE_BUILD_TYPE=Release \
	  -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DBNN_CUDA_ON_HOST=ON
	$(BIN)/cmake --build build/cuda_on_host --target bnndeploy_ops_cuda_on_host
	BNNDEPLOY_LIBRARY=$(abspath build/cuda_on_host/libbnndeploy_ops_cuda_on_host.so) \
	  $(BIN)/python -m pytest -q $(PYTEST_ARGS) $(OPERATOR_TESTS)

# Threads of a block are fibers, which ThreadSanitizer takes for threads.
sanitize-cuda-threads: setup
	$(BIN)/cmake -S custom_ops -B build/sanitize_cuda -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DBNN_CUDA_ON_HOST=ON -DBNN_SANITIZE=thread
	$(BIN)/cmake --build build/sanitize_cuda --target bnndeploy_ops_cuda_on_host
	LD_PRELOAD="$(shell $(CXX) -print-file-name=libtsan.so)" OMP_NUM_THREADS=1 \
	  TSAN_OPTIONS=ignore_noninstrumented_modules=1:report_thread_leaks=0:exitcode=66 \
	  BNNDEPLOY_LIBRARY=$(abspath build/sanitize_cuda/libbnndeploy_ops_cuda_on_host.so) \
	  setarch -R $(BIN)/python -m pytest -q tests/ops/test_product_tiles.py \
	  -k "(matrices and 65-31) or (convolutions and groups and sm80) or order"

test-cuda-faults: setup
	$(BIN)/python tests/ops/plant_cuda_faults.py build/cuda_faults

ifeq ($(shell $(HAS_GPU) && echo yes),yes)
test-gpu: setup
	BNNDEPLOY_TEST_PROVIDER=CUDAExecutionProvider $(BIN)/python -m pytest -q $(OPERATOR_TESTS)
	$(BIN)/python -m pytest -q tests/gpu
	if command -v compute-sanitizer >/dev/null; then \
	  BNNDEPLOY_TEST_PROVIDER=CUDAExecutionProvider compute-sanitizer --error-exitcode 1 \
	    $(BIN)/python -m pytest -q tests/ops/test_products.py tests/ops/test_pack_unpack.py; \
	else echo "compute-sanitizer: not installed, skipped"; fi

bench-gpu: setup
	$(BIN)/python benchmarks/gpu.py
else
test-gpu bench-gpu:
	@echo "$@: skipped, nvidia-smi finds no NVIDIA device here"
endif

test-aarch64: setup $(AARCH64)/libonnxruntime.so
	$(BIN)/cmake -S custom_ops -B $(AARCH64) -G Ninja -DCMAKE_BUILD_TYPE=Release -DBNN_TESTS=ON \
	  -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	  -DCMAKE_TOOLCHAIN_FILE=$(abspath custom_ops/cmake/aarch64-linux-gnu.cmake)
	$(BIN)/cmake --build $(AARCH64)
	BNNDEPLOY_AARCH64=$(abspath $(AARCH64)) \
	  $(BIN)/python -m pytest $(PYTEST_ARGS) tests/bundle/test_aarch64.py

# The library of the installed version's wheel for ARM.
$(AARCH64)/libonnxruntime.so: | setup
	rm -rf $(AARCH64)/wheel
	$(BIN)/python -m pip download --quiet --no-deps --only-binary :all: --dest $(AARCH64)/wheel \
	  --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
	  onnxruntime==$(shell $(BIN)/python -c 'import onnxruntime; print(onnxruntime.__version__)')
	$(BIN)/python -m zipfile -e $(AARCH64)/wheel/onnxruntime-*.whl $(AARCH64)/wheel
	cp $(AARCH64)/wheel/onnxruntime/capi/libonnxruntime.so.* $@

clean:
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache
