// The one place where an op meets ONNX Runtime: it fills the function table of OrtCustomOp, builds
// the contexts, turns exceptions into an OrtStatus and names op and node in every message.
#ifndef BNN_ORT_ADAPTOR_H_
#define BNN_ORT_ADAPTOR_H_

#include <memory>
#include <vector>

#include "ort/abi.h"
#include "ort/inference.h"
#include "ort/node.h"
#include "ort/run.h"

namespace bnn::ort {

// What ONNX Runtime calls for every run of a node. Runs may overlap on one kernel, so it has no
// state that changes after creation.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void Compute(const Run& run) const = 0;
};

// Reads and checks attributes, types and constant inputs, and picks the kernel variants.
using Creator = std::unique_ptr<Kernel> (*)(const Node& node);

// Everything there is to say about an op. All inputs are required; an op with several outputs
// accepts nodes that leave some unnamed.
struct OpDefinition {
  const char* name;
  std::vector<const char*> inputs;
  std::vector<const char*> outputs;
  // States type and shape of the outputs as far as the inputs tell.
  void (*infer)(const Inference& inference);
  Creator create;
};

// An OrtCustomOp of one execution provider that answers from an OpDefinition. ONNX Runtime keeps
// its address.
struct AdaptedOp : CustomOp {
  AdaptedOp(const OpDefinition& op_definition, const char* execution_provider,
            int session_threads = 1);
  const OpDefinition definition;
  const char* const provider;
  const int threads;  // of the sessions that it serves
};

// Reads ONNX Runtime's function table; call it first.
void SetApi(const ApiBase* base);

// Returns a status with this message.
OrtStatus* ErrorStatus(const std::string& message);

}  // namespace bnn::ort

#endif  // BNN_ORT_ADAPTOR_H_
