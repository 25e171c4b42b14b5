# Finds an nvcc and enables the language CUDA with it; sets BNN_CUDA to whether that was done.
#
# The environment variable BNNDEPLOY_CUDA decides: 0 builds no CUDA library, 1 fails without an nvcc
# and looks first in the Python environment, where `pip install "cuda-toolkit[nvcc]==13.*"` puts one;
# unset takes a system's nvcc if there is one. CUDACXX names an nvcc.

set(BNN_CUDA OFF)
set(BNN_OLDEST_NVCC 12.8)  # compiles for sm_120 and compresses the code

# Sets `out` to the folder of the toolkit that pip installed into the Python of this build.
function(bnn_find_cuda_of_python out)
  set(${out} "" PARENT_SCOPE)
  foreach(python IN ITEMS "${Python3_EXECUTABLE}" "${Python_EXECUTABLE}" python3)
    if(python)
      execute_process(COMMAND "${python}" -c "import nvidia.cu13 as m; print(list(m.__path__)[0])"
        OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
      if(NOT failed AND EXISTS "${root}/bin/nvcc")
        set(${out} "${root}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# Sets `out` to why this nvcc cannot be used, empty if it can.
function(bnn_check_nvcc nvcc out)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE said ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" matched "${said}")
  if(NOT matched)
    set(${out} "${nvcc} does not tell its version" PARENT_SCOPE)
  elseif(CMAKE_MATCH_1 VERSION_LESS BNN_OLDEST_NVCC)
    set(${out} "${nvcc} is of CUDA ${CMAKE_MATCH_1}, expected ${BNN_OLDEST_NVCC} or later"
      PARENT_SCOPE)
  else()
    set(${out} "" PARENT_SCOPE)
  endif()
endfunction()

# Sets `out` to an nvcc, empty if there is none.
function(bnn_find_nvcc out)
  set(found "$ENV{CUDACXX}")
  if(NOT found AND "$ENV{BNNDEPLOY_CUDA}" STREQUAL "1")
    bnn_find_cuda_of_python(root)
    if(root)
      set(found "${root}/bin/nvcc")
    endif()
  endif()
  if(NOT found)
    find_program(BNN_SYSTEM_NVCC nvcc PATHS /usr/local/cuda/bin)
    if(BNN_SYSTEM_NVCC)
      set(found "${BNN_SYSTEM_NVCC}")
    endif()
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

if("$ENV{BNNDEPLOY_CUDA}" STREQUAL "0" OR BNN_CUDA_ON_HOST OR CMAKE_CROSSCOMPILING
   OR BNN_SANITIZE)
  return()
endif()
bnn_find_nvcc(BNN_NVCC)
if(BNN_NVCC)
  bnn_check_nvcc("${BNN_NVCC}" BNN_NVCC_FAULT)
else()
  set(BNN_NVCC_FAULT "there is no nvcc; pip install \"cuda-toolkit[nvcc]==13.*\" brings one")
endif()
if(NOT BNN_NVCC_FAULT)
  # The wheels keep their libraries in a folder that their own nvcc.profile may not name.
  get_filename_component(BNN_CUDA_ROOT "${BNN_NVCC}" DIRECTORY)
  get_filename_component(BNN_CUDA_ROOT "${BNN_CUDA_ROOT}" DIRECTORY)
  set(BNN_CUDA_LIBRARIES "${BNN_CUDA_ROOT}/lib")
  set(ENV{CUDACXX} "${BNN_NVCC}")
  set(ENV{CUDAFLAGS} "-L${BNN_CUDA_LIBRARIES} $ENV{CUDAFLAGS}")
  set(ENV{CUDAHOSTCXX} "${CMAKE_CXX_COMPILER}")
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 100 120-real)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    set(BNN_CUDA ON)
    return()
  endif()
  set(BNN_NVCC_FAULT "${BNN_NVCC} does not work with ${CMAKE_CXX_COMPILER}")
endif()
if("$ENV{BNNDEPLOY_CUDA}" STREQUAL "1")
  message(FATAL_ERROR "BNNDEPLOY_CUDA=1: ${BNN_NVCC_FAULT}")
endif()
message(STATUS "CUDA library: not built, ${BNN_NVCC_FAULT}")
