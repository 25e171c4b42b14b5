// The domain ai.bnndeploy: which ops a library brings, and their registration.
#ifndef BNN_OPS_DOMAIN_H_
#define BNN_OPS_DOMAIN_H_

#include <vector>

#include "ort/adaptor.h"

namespace bnn::ops {

using OpList = std::vector<const ort::CustomOp*>;

// Returns the ops of this library, for one execution provider. They live as long as the library.
const OpList& OpsFor(const char* provider);

// Adds the domain to a session's options. The domain is built once, of what `list` returns, and
// kept: sessions hold on to it.
OrtStatus* RegisterDomain(OrtSessionOptions* options, const OrtApiBase* base,
                          OpList (*list)(const ort::ApiBase* base));

}  // namespace bnn::ops

#endif  // BNN_OPS_DOMAIN_H_
