// The entry for libFuzzer, which is clang's.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  natten_sim::fuzz::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
