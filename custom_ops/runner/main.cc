// bnndeploy_run: classifies images with the model of the bundle that it lies in.
//
//   bnndeploy_run [--top K] [--threads N] [--repeat N] [--onnxruntime LIBRARY] IMAGE...
//
// Prints for each image its name, and the K best classes with their probabilities, separated by
// tabs; with --repeat also the median milliseconds of N runs. Exit codes: 0 done, 1 it says why
// not, 2 usage.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/description.h"
#include "runner/image.h"
#include "runner/session.h"

namespace bnn::runner {
namespace {

constexpr int kUsage = 2;

struct Arguments {
  int top = 1;
  int threads = 0;
  int repeat = 0;
  std::string onnxruntime;
  std::vector<std::string> images;
};

[[noreturn]] void FailUsage() {
  std::fprintf(stderr,
               "usage: bnndeploy_run [--top K] [--threads N] [--repeat N] [--onnxruntime LIBRARY] "
               "IMAGE...\n");
  std::exit(kUsage);
}

int Number(const char* text) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || number < 1 || number > INT_MAX) FailUsage();
  return static_cast<int>(number);
}

Arguments Parse(int argc, char** argv) {
  Arguments parsed;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--", 0) != 0) {
      parsed.images.push_back(argument);
      continue;
    }
    if (++i == argc) FailUsage();
    if (argument == "--top") {
      parsed.top = Number(argv[i]);
    } else if (argument == "--threads") {
      parsed.threads = Number(argv[i]);
    } else if (argument == "--repeat") {
      parsed.repeat = Number(argv[i]);
    } else if (argument == "--onnxruntime") {
      parsed.onnxruntime = argv[i];
    } else {
      FailUsage();
    }
  }
  if (parsed.images.empty()) FailUsage();
  return parsed;
}

// The folder of this program, which is that of the bundle, wherever it is started from.
std::string Folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0) throw std::runtime_error("/proc/self/exe: cannot be read");
  const std::string program(path, static_cast<size_t>(length));
  return program.substr(0, program.rfind('/') + 1);
}

void PrintBest(const std::string& image, const std::vector<float>& logits, size_t top,
               const std::vector<std::string>& classes) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(double{logit} - largest);
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  order.resize(std::min(top, order.size()));
  std::printf("%s", image.c_str());
  for (size_t index : order) {
    const std::string name = index < classes.size() ? classes[index] : std::to_string(index);
    std::printf("\t%s\t%.6f", name.c_str(), std::exp(double{logits[index]} - largest) / sum);
  }
  std::printf("\n");
}

double MedianMilliseconds(Session& session, std::vector<float>& input,
                          const std::vector<int64_t>& shape, int repeat) {
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    session.Run(input, shape);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    times.push_back(time.count());
  }
  std::nth_element(times.begin(), times.begin() + repeat / 2, times.end());
  return times[static_cast<size_t>(repeat / 2)];
}

void Main(const Arguments& arguments) {
  const std::string folder = Folder();
  const Description model = ReadDescription(folder + "input.txt");
  const std::string onnxruntime =
      arguments.onnxruntime.empty() ? folder + "lib/libonnxruntime.so.1" : arguments.onnxruntime;
  Session session(onnxruntime, folder + "lib/libbnndeploy_ops.so", folder + "model.onnx",
                  arguments.threads);
  for (const std::string& image : arguments.images) {
    std::vector<float> input = ReadInput(image, model);
    const std::vector<float> logits = session.Run(input, model.input_shape);
    if (logits.empty()) throw std::runtime_error("output: has no values; export the model again");
    PrintBest(image, logits, static_cast<size_t>(arguments.top), model.classes);
    if (arguments.repeat > 0) {
      std::printf("%s\tmedian ms\t%.4f\n", image.c_str(),
                  MedianMilliseconds(session, input, model.input_shape, arguments.repeat));
    }
  }
}

}  // namespace
}  // namespace bnn::runner

int main(int argc, char** argv) {
  try {
    bnn::runner::Main(bnn::runner::Parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bnndeploy_run: %s\n", error.what());
    return 1;
  }
  return 0;
}
