#include "ops/created.h"

#include <mutex>

namespace bnn::ops {
namespace {

constexpr size_t kMostNodes = 4096;

std::mutex mutex;  // sessions may be created on several threads

CreatedCounts& Counts() {
  static CreatedCounts counts;
  return counts;
}

std::deque<CreatedNode>& Nodes() {
  static std::deque<CreatedNode> nodes;
  return nodes;
}

}  // namespace

void Record(const CreatedNode& node) {
  const std::lock_guard<std::mutex> lock(mutex);
  ++Counts()[node.kernel][node.variant];
  Nodes().push_back(node);
  if (Nodes().size() > kMostNodes) Nodes().pop_front();
}

CreatedCounts ReadCreated() {
  const std::lock_guard<std::mutex> lock(mutex);
  return Counts();
}

std::deque<CreatedNode> ReadCreatedNodes() {
  const std::lock_guard<std::mutex> lock(mutex);
  return Nodes();
}

}  // namespace bnn::ops
