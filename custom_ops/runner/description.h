// What the bundle says about its model: input.txt, written by bnndeploy bundle.
#ifndef BNN_RUNNER_DESCRIPTION_H_
#define BNN_RUNNER_DESCRIPTION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bnn::runner {

// A pixel p of channel c in [0, maximum] becomes (p / maximum - mean[c]) / std[c].
struct Description {
  std::vector<int64_t> input_shape;  // of one row: C H W, or one number for flat inputs
  size_t channels = 0;
  size_t height = 0;
  size_t width = 0;
  std::vector<float> mean;
  std::vector<float> std;
  std::vector<std::string> classes;

  size_t InputSize() const { return channels * height * width; }
};

// Reads lines of a key and its values: image C H W; input D...; mean and std with C numbers; and
// one line "class NAME" for each class, in order. Throws std::runtime_error.
Description ReadDescription(const std::string& path);

}  // namespace bnn::runner

#endif  // BNN_RUNNER_DESCRIPTION_H_
