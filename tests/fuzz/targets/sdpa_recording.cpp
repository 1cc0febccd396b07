// Recordings of PyTorch's attention.
#include <natten_sim/validate/record/sdpa_recording.hpp>

#include "fuzz/target.hpp"

void natten_sim::fuzz::read(std::string_view input) {
  (void)natten_sim::validate::parse_sdpa_recording(input, "input");
}
