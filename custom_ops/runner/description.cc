#include "runner/description.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace bnn::runner {
namespace {

// Larger images than this are no input of a network; it also keeps sizes from overflowing.
constexpr size_t kLargestSide = 1 << 14;

template <typename T>
std::vector<T> Numbers(std::istringstream& line) {
  std::vector<T> numbers;
  for (T number; line >> number;) numbers.push_back(number);
  return numbers;
}

bool IsWhole(const Description& found) {
  const auto is_side = [](size_t side) { return side > 0 && side <= kLargestSide; };
  size_t size = 1;
  for (int64_t side : found.input_shape) {
    if (side <= 0 || !is_side(static_cast<size_t>(side))) return false;
    size *= static_cast<size_t>(side);
    if (size > (size_t{1} << 32)) return false;
  }
  return (found.channels == 1 || found.channels == 3) && is_side(found.height) &&
         is_side(found.width) && size == found.InputSize() && found.mean.size() == found.channels &&
         found.std.size() == found.channels;
}

}  // namespace

Description ReadDescription(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read; expected the bundle's own file");
  Description found;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string key;
    line >> key;
    if (key == "image") {
      line >> found.channels >> found.height >> found.width;
    } else if (key == "input") {
      found.input_shape = Numbers<int64_t>(line);
    } else if (key == "mean") {
      found.mean = Numbers<float>(line);
    } else if (key == "std") {
      found.std = Numbers<float>(line);
    } else if (key == "class") {
      found.classes.push_back(text.substr(std::min(text.size(), std::string("class ").size())));
    }
  }
  if (!IsWhole(found)) {
    throw std::runtime_error(path + ": lacks sizes, mean or std; make the bundle again");
  }
  return found;
}

}  // namespace bnn::runner
