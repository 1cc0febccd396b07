// The entry for libFuzzer, which is clang's: a program of one target.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  natten_sim::fuzz::try_input(natten_sim::fuzz::targets().begin()->second,
                              {reinterpret_cast<const char*>(data), size});
  return 0;
}
