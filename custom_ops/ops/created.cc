#include "ops/created.h"

#include <mutex>

namespace bnn::ops {
namespace {

std::mutex mutex;  // sessions may be created on several threads

CreatedCounts& Counts() {
  static CreatedCounts counts;
  return counts;
}

}  // namespace

void CountCreated(const char* kernel, const char* variant) {
  const std::lock_guard<std::mutex> lock(mutex);
  ++Counts()[kernel][variant];
}

CreatedCounts ReadCreated() {
  const std::lock_guard<std::mutex> lock(mutex);
  return Counts();
}

}  // namespace bnn::ops
