// Remembers which kernel variants were chosen for nodes, so that tests and users can ask.
#ifndef BNN_OPS_CREATED_H_
#define BNN_OPS_CREATED_H_

#include <map>
#include <string>

namespace bnn::ops {

// Kernel name -> variant name -> number of nodes created with it since the library was loaded.
using CreatedCounts = std::map<std::string, std::map<std::string, int64_t>>;

void CountCreated(const char* kernel, const char* variant);
CreatedCounts ReadCreated();

// Counts the selected variant and returns it.
template <typename Selected>
Selected Created(const char* kernel, Selected selected) {
  CountCreated(kernel, selected.name);
  return selected;
}

}  // namespace bnn::ops

#endif  // BNN_OPS_CREATED_H_
