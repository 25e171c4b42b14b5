// BnnDeployKernels(): which kernel variants there are, and which are chosen on this machine.
#include "ops/report.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "ops/cpu/allowed_isa.h"
#include "ops/cpu/cuda_library.h"

namespace bnn::ops {
namespace {

struct Variant {
  uint32_t needed;
  const char* name;
};

struct KernelList {
  const char* name;
  std::vector<Variant> variants;  // best first
};

// Returns the variants of the products whose names begin with `prefix`: those for one type of X.
KernelList ProductList(const char* name, const std::string& prefix) {
  KernelList list = {name, {}};
#define BNN_KERNEL(needed, variant) \
  if (std::string(#variant).rfind(prefix, 0) == 0) list.variants.push_back({needed, #variant});
#include "kernels/product/kernels.inc"
#undef BNN_KERNEL
  return list;
}

std::vector<KernelList> KernelLists() {
#define BNN_KERNEL(needed, variant) {needed, #variant},
  return {
      {"sign",
       {
#include "kernels/sign/kernels.inc"
       }},
      {"ternary",
       {
#include "kernels/ternary/kernels.inc"
       }},
      {"pack_bits",
       {
#include "kernels/pack_bits/kernels.inc"
       }},
      {"unpack_bits",
       {
#include "kernels/unpack_bits/kernels.inc"
       }},
      {"max_pool_bits",
       {
#include "kernels/max_pool_bits/kernels.inc"
       }},
      ProductList("product_bits", "bits_"),
      ProductList("product_float", "float_"),
  };
#undef BNN_KERNEL
}

std::string IsaNames(uint32_t isa) {
  std::string names;
  for (const cpu::Rung& rung : cpu::kRungs) {
    if (cpu::Has(rung.isa, isa)) Append(&names, Quoted(rung.name));
  }
  return "[" + names + "]";
}

// Returns the CUDA library's own report, null without one.
std::string CudaReport() {
  const CudaLibrary& cuda = OpenCudaLibrary();
  if (!cuda.error.empty()) return "{\"error\": " + Quoted(cuda.error) + "}";
  return cuda.kernels == nullptr ? "null" : cuda.kernels();
}

std::string Report() {
  const char* cap = std::getenv("BNNDEPLOY_ISA");
  const uint32_t allowed = AllowedIsa();
  const CreatedCounts created = ReadCreated();
  std::string kernels;
  for (const KernelList& kernel : KernelLists()) {
    std::string variants, chosen;
    for (const Variant& variant : kernel.variants) {
      Append(&variants, Quoted(variant.name));
      if (chosen.empty() && cpu::Has(variant.needed, allowed)) chosen = variant.name;
    }
    Append(&kernels, Quoted(kernel.name) + ": {\"variants\": [" + variants +
                         "], \"chosen\": " + Quoted(chosen) +
                         ", \"created\": " + CreatedOf(created, kernel.name) + "}");
  }
  return "{\"isa\": {\"supported\": " + IsaNames(cpu::Supported()) +
         ", \"allowed\": " + IsaNames(allowed) +
         ", \"cap\": " + (cap && *cap ? Quoted(cap) : std::string("null")) + "}, \"kernels\": {" +
         kernels + "}, \"nodes\": " + NodesCreated() + ", \"cuda\": " + CudaReport() + "}";
}

}  // namespace
}  // namespace bnn::ops

// Returns a JSON object; the text is valid until the calling thread calls again.
//   isa.supported: instruction sets of the machine
//   isa.allowed: those below isa.cap (BNNDEPLOY_ISA)
//   kernels.<name>.variants: best first
//   kernels.<name>.chosen: the one a node created now would get
//   kernels.<name>.created: how many nodes got which variant since the library was loaded
//   nodes: the nodes created last with their variants, oldest first
//   cuda: what BnnDeployKernels of the CUDA library returns, null if there is no such library, or
//     its error
//   error: the message, instead of the above, if BNNDEPLOY_ISA has an unknown value
extern "C" __attribute__((visibility("default"))) const char* BnnDeployKernels() {
  thread_local std::string report;
  try {
    report = bnn::ops::Report();
  } catch (const std::exception& error) {
    report = "{\"error\": " + bnn::ops::Quoted(error.what()) + "}";
  }
  return report.c_str();
}
