// The program that libFuzzer drives; the environment's SLIMPACK_FUZZ_TARGET names the target (tests/fuzz/run.sh).

#include "targets.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

static const slimpack::fuzz::target* chosen;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("SLIMPACK_FUZZ_TARGET");
  chosen = slimpack::fuzz::target_of(name == nullptr ? "" : name);
  if (chosen == nullptr) {
    std::fprintf(stderr, "SLIMPACK_FUZZ_TARGET names no target\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
