#include "ops/cpu/allowed_isa.h"

#include <cstdlib>
#include <string>

#include "base/cpu.h"
#include "ort/error.h"

namespace bnn::ops {

uint32_t AllowedIsa() {
  const char* cap = std::getenv("BNNDEPLOY_ISA");
  const uint32_t isa = cpu::Capped(cpu::Supported(), cap);
  if (isa != 0) return isa;
  std::string known;
  for (const cpu::Rung& rung : cpu::kRungs)
    known += (known.empty() ? "" : ", ") + std::string(rung.name);
  ort::Fail("environment variable BNNDEPLOY_ISA", "'" + std::string(cap) + "'", "one of " + known);
}

}  // namespace bnn::ops
