#include "ops/cpu/cuda_library.h"

#include <dlfcn.h>
#include <unistd.h>

#define BNN_NAME(symbol) BNN_NAME_OF_EXPANDED(symbol)
#define BNN_NAME_OF_EXPANDED(symbol) #symbol

namespace bnn::ops {
namespace {

// Returns the path of the CUDA library in the folder of the library that holds this function.
std::string CudaLibraryPath() {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&CudaLibraryPath), &self) == 0) return kCudaLibraryFile;
  const std::string path = self.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + kCudaLibraryFile;
}

CudaLibrary Open() {
  CudaLibrary library;
  const std::string path = CudaLibraryPath();
  if (access(path.c_str(), F_OK) != 0) return library;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    library.error = dlerror();
    return library;
  }
  library.ops = reinterpret_cast<CudaOpsFunction>(dlsym(handle, BNN_NAME(BNN_CUDA_OPS)));
  library.kernels = reinterpret_cast<CudaKernelsFunction>(dlsym(handle, "BnnDeployKernels"));
  if (library.ops == nullptr || library.kernels == nullptr) {
    library = CudaLibrary();
    library.error = path + ": is not of the same build as this library";
  }
  return library;
}

}  // namespace

const CudaLibrary& OpenCudaLibrary() {
  static const CudaLibrary library = Open();
  return library;
}

}  // namespace bnn::ops
