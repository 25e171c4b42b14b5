#include "ort/attributes.h"

#include <string>

#include "ort/error.h"

namespace bnn::ort {
namespace {

std::string Subject(const char* name) { return std::string("attribute ") + name; }

void CheckRange(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  Fail(Subject(name), std::to_string(value),
       "a value from " + std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

int64_t Attributes::Int(const char* name, int64_t low, int64_t high) const {
  int64_t value = 0;
  if (!ReadInt(name, &value)) Fail(Subject(name), "none", "an integer");
  CheckRange(name, value, low, high);
  return value;
}

float Attributes::Float(const char* name) const {
  float value = 0;
  if (!ReadFloat(name, &value)) Fail(Subject(name), "none", "a float");
  return value;
}

void Attributes::ReadAll(const char* name, int64_t* values, size_t count, int64_t low,
                         int64_t high) const {
  const std::string expected = std::to_string(count) + " integers";
  size_t found = count;
  if (!ReadInts(name, values, &found)) Fail(Subject(name), "none", expected);
  if (found != count) Fail(Subject(name), std::to_string(found) + " integers", expected);
  for (size_t i = 0; i < count; ++i) CheckRange(name, values[i], low, high);
}

}  // namespace bnn::ort
