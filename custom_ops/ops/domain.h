// The domain ai.bnndeploy: which ops a library brings, and their registration.
#ifndef BNN_OPS_DOMAIN_H_
#define BNN_OPS_DOMAIN_H_

#include <vector>

#include "ort/adaptor.h"

namespace bnn::ops {

using OpList = std::vector<const ort::CustomOp*>;

// Returns the ops of this library for one execution provider and sessions of so many threads. They
// live as long as the library.
const OpList& OpsFor(const char* provider, int threads);

// Adds the domain to a session's options. ONNX Runtime tells no op the size of the session's pool:
// the session entry bnndeploy.threads does, else the ops plan for all threads of the machine. A
// domain is built once for each size, of what `list` returns, and kept: sessions hold on to it.
OrtStatus* RegisterDomain(OrtSessionOptions* options, const OrtApiBase* base,
                          OpList (*list)(const ort::ApiBase* base, int threads));

}  // namespace bnn::ops

#endif  // BNN_OPS_DOMAIN_H_
