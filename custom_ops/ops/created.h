// Remembers which kernel variants were chosen for nodes, so that tests and users can ask.
#ifndef BNN_OPS_CREATED_H_
#define BNN_OPS_CREATED_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "ort/node.h"

namespace bnn::ops {

// What one node got. Calls of up to `few_positions` output positions go to `few_variant`.
struct CreatedNode {
  std::string name;  // as in the graph, after ONNX Runtime's own passes
  std::string kernel;
  std::string variant;
  std::string few_variant = "";
  int64_t few_positions = 0;
};

// Kernel name -> variant name -> number of nodes created with it since the library was loaded.
using CreatedCounts = std::map<std::string, std::map<std::string, int64_t>>;

void Record(const CreatedNode& node);
CreatedCounts ReadCreated();

// Returns the nodes created last, oldest first; a bounded number, so that a service which loads
// models for months does not grow.
std::deque<CreatedNode> ReadCreatedNodes();

// Records the selected variant and returns it.
template <typename Selected>
Selected Created(const ort::Node& node, const char* kernel, Selected selected) {
  Record({node.name(), kernel, selected.name});
  return selected;
}

}  // namespace bnn::ops

#endif  // BNN_OPS_CREATED_H_
