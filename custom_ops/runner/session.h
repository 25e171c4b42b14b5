// A model in ONNX Runtime with our operators, both opened at run time.
#ifndef BNN_RUNNER_SESSION_H_
#define BNN_RUNNER_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bnn::runner {

class Session {
 public:
  // Opens the two libraries and loads the model; threads 0 lets ONNX Runtime choose. Throws
  // std::runtime_error.
  Session(const std::string& onnxruntime, const std::string& operators, const std::string& model,
          int threads);
  ~Session();

  // Runs one row and returns the first output. Throws std::runtime_error.
  std::vector<float> Run(std::vector<float>& input, const std::vector<int64_t>& shape);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bnn::runner

#endif  // BNN_RUNNER_SESSION_H_
