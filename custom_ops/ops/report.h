// Pieces of the JSON that BnnDeployKernels() returns, the same for every library.
#ifndef BNN_OPS_REPORT_H_
#define BNN_OPS_REPORT_H_

#include <string>

#include "ops/created.h"

namespace bnn::ops {

// Returns the text as a JSON string.
std::string Quoted(const std::string& text);

// Joins "a", "b" to "a, b".
void Append(std::string* list, const std::string& item);

// Returns an object: variant name -> number of nodes created with it.
std::string CreatedOf(const CreatedCounts& created, const std::string& kernel);

// Returns an array of the nodes created last, oldest first.
std::string NodesCreated();

}  // namespace bnn::ops

#endif  // BNN_OPS_REPORT_H_
