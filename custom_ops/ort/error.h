// Errors of ops: thrown inside the library, turned into an OrtStatus by the adaptor.
#ifndef BNN_ORT_ERROR_H_
#define BNN_ORT_ERROR_H_

#include <stdexcept>
#include <string>

#include "ort/abi.h"

namespace bnn::ort {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws "<subject>: got <got>, expected <expected>".
[[noreturn]] inline void Fail(const std::string& subject, const std::string& got,
                              const std::string& expected) {
  throw Error(subject + ": got " + got + ", expected " + expected);
}

// Returns the function table; throws before RegisterCustomOps was called.
const Api& GetApi();

// Releases a status; throws its message if it is an error.
void Check(OrtStatus* status);

// Releases a status; returns whether it meant success.
bool Succeeded(OrtStatus* status);

}  // namespace bnn::ort

#endif  // BNN_ORT_ERROR_H_
