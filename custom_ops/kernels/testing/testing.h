// A small test frame: BNN_TEST defines a test, Check reports what does not hold.
#ifndef BNN_KERNELS_TESTING_TESTING_H_
#define BNN_KERNELS_TESTING_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

namespace bnn::testing {

// Registers a test under the sentence that it proves.
struct Registration {
  Registration(const char* sentence, void (*run)());
};

#define BNN_TEST_JOIN2(a, b) a##b
#define BNN_TEST_JOIN(a, b) BNN_TEST_JOIN2(a, b)
#define BNN_TEST(sentence)                                                         \
  static void BNN_TEST_JOIN(Test, __LINE__)();                                     \
  static const ::bnn::testing::Registration BNN_TEST_JOIN(registration, __LINE__)( \
      sentence, BNN_TEST_JOIN(Test, __LINE__));                                    \
  static void BNN_TEST_JOIN(Test, __LINE__)()

// Counts one check; a failed one prints `what` (the first few of a test) and fails the test.
void Check(bool holds, const std::string& what);

// Deterministic random numbers (splitmix64, Steele et al. 2014), the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Bits();
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(Bits() % static_cast<uint64_t>(limit));
  }
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  float Real() { return static_cast<float>(Between(-(1 << 24), 1 << 24)) * 0x1p-22f; }  // -4 ... 4
  bool Chance(int percent) { return Below(100) < percent; }
  template <typename T>
  T OneOf(const std::vector<T>& values) {
    return values[static_cast<size_t>(Below(static_cast<int64_t>(values.size())))];
  }

 private:
  uint64_t state_;
};

}  // namespace bnn::testing

#endif  // BNN_KERNELS_TESTING_TESTING_H_
