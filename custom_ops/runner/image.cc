#include "runner/image.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace bnn::runner {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read; expected an image");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads one number of a PNM header; comments run from # to the end of the line. Returns 0, which no
// field may be, when there is none.
size_t HeaderNumber(const std::string& bytes, size_t* position) {
  const auto at = [&] { return *position < bytes.size() ? bytes[*position] : '\0'; };
  while (at() == ' ' || at() == '\t' || at() == '\r' || at() == '\n' || at() == '#') {
    if (at() == '#') {
      while (*position < bytes.size() && at() != '\n') ++*position;
    } else {
      ++*position;
    }
  }
  size_t number = 0;
  while (at() >= '0' && at() <= '9' && number < (1 << 20)) {
    number = number * 10 + static_cast<size_t>(at() - '0');
    ++*position;
  }
  return number;
}

std::vector<float> FromPnm(const std::string& bytes, const std::string& path,
                           const Description& model) {
  size_t position = 2;
  const size_t width = HeaderNumber(bytes, &position);
  const size_t height = HeaderNumber(bytes, &position);
  const size_t maximum = HeaderNumber(bytes, &position);
  ++position;  // one white space ends the header
  if (width != model.width || height != model.height || maximum == 0 || maximum > 65535) {
    throw std::runtime_error(path + ": got " + std::to_string(width) + " x " +
                             std::to_string(height) + " pixels, expected " +
                             std::to_string(model.width) + " x " + std::to_string(model.height) +
                             "; resize the image first");
  }
  const size_t sample_bytes = maximum > 255 ? 2 : 1;
  if (bytes.size() < position || bytes.size() - position < model.InputSize() * sample_bytes) {
    throw std::runtime_error(path + ": is cut off; expected a complete image");
  }
  const auto* samples = reinterpret_cast<const unsigned char*>(bytes.data()) + position;
  std::vector<float> input(model.InputSize());
  const size_t pixels = width * height;
  for (size_t pixel = 0; pixel < pixels; ++pixel) {
    for (size_t c = 0; c < model.channels; ++c) {
      const size_t sample = pixel * model.channels + c;
      // Samples of two bytes have the high one first.
      const unsigned value = sample_bytes == 1
                                 ? samples[sample]
                                 : samples[2 * sample] * 256u + samples[2 * sample + 1];
      const float fraction = static_cast<float>(value) / static_cast<float>(maximum);
      input[c * pixels + pixel] = (fraction - model.mean[c]) / model.std[c];
    }
  }
  return input;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::vector<float> ReadInput(const std::string& path, const Description& model) {
  const std::string bytes = ReadFile(path);
  if (EndsWith(path, ".f32")) {
    std::vector<float> input(model.InputSize());
    if (bytes.size() != input.size() * sizeof(float)) {
      throw std::runtime_error(path + ": got " + std::to_string(bytes.size()) +
                               " bytes, expected " + std::to_string(input.size()) + " floats");
    }
    std::memcpy(input.data(), bytes.data(), bytes.size());
    return input;
  }
  const std::string magic = model.channels == 1 ? "P5" : "P6";
  if (bytes.compare(0, 2, magic) != 0) {
    throw std::runtime_error(path + ": is no binary " + (magic == "P5" ? "PGM" : "PPM") +
                             " image; convert it first, for example with ImageMagick");
  }
  return FromPnm(bytes, path, model);
}

}  // namespace bnn::runner
