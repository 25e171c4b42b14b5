// Images of the model's own size, as its input.
#ifndef BNN_RUNNER_IMAGE_H_
#define BNN_RUNNER_IMAGE_H_

#include <string>
#include <vector>

#include "runner/description.h"

namespace bnn::runner {

// Reads a binary PGM or PPM file (P5 for one channel, P6 for three; 8 or 16 bits) of the model's
// size and normalises it, or, if the name ends in .f32, an input as raw float32 in the machine's
// byte order. Returns C H W values. Throws std::runtime_error.
std::vector<float> ReadInput(const std::string& path, const Description& model);

}  // namespace bnn::runner

#endif  // BNN_RUNNER_IMAGE_H_
