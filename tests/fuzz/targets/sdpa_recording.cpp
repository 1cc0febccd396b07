// Recordings of PyTorch's attention.
#include <natten_sim/validate/record/sdpa_recording.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::sdpa_recording {

void read(std::string_view input) {
  (void)natten_sim::validate::parse_sdpa_recording(input, "input");
}

const Target kTarget("sdpa_recording", read);

}  // namespace natten_sim::fuzz::sdpa_recording
