// Address traces.
#include <natten_sim/io/trace.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::trace {

void read(std::string_view input) {
  const MemoryFile file(input);
  double last = 0;
  read_trace(
      file.path(),
      [](const TraceAccess& access) { require(access.bytes >= 0, "no access has less than no bytes"); },
      [&last](double share) {
        require(share >= last && share <= 1, "progress grows to 1");
        last = share;
      });
}

const Target kTarget("trace", read);

}  // namespace natten_sim::fuzz::trace
