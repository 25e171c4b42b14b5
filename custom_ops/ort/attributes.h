// Attributes of a node, read the same way when a kernel is created and when shapes are inferred.
#ifndef BNN_ORT_ATTRIBUTES_H_
#define BNN_ORT_ATTRIBUTES_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace bnn::ort {

class Attributes {
 public:
  virtual ~Attributes() = default;

  // Returns the attribute; throws if it is missing or outside [low, high].
  int64_t Int(const char* name, int64_t low, int64_t high) const;
  float Float(const char* name) const;

  // Returns the attribute of exactly `kCount` integers, each within [low, high].
  template <size_t kCount>
  std::array<int64_t, kCount> Ints(const char* name, int64_t low, int64_t high) const {
    std::array<int64_t, kCount> values;
    ReadAll(name, values.data(), kCount, low, high);
    return values;
  }

 protected:
  // Each returns whether there is such an attribute of this type.
  virtual bool ReadInt(const char* name, int64_t* value) const = 0;
  virtual bool ReadFloat(const char* name, float* value) const = 0;
  // `count` is the room in `values` on entry and the true number of integers on return.
  virtual bool ReadInts(const char* name, int64_t* values, size_t* count) const = 0;

 private:
  void ReadAll(const char* name, int64_t* values, size_t count, int64_t low, int64_t high) const;
};

}  // namespace bnn::ort

#endif  // BNN_ORT_ATTRIBUTES_H_
