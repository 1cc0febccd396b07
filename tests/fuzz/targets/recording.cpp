// Recordings of validate: a written one reads as itself.
#include <natten_sim/validate/record/recording.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::recording {

void read(std::string_view input) {
  using namespace natten_sim::validate;
  const Recording recording = parse_recording(input, "input");
  const std::string written = recording_json(recording);
  require(recording_json(parse_recording(written, "written")) == written,
          "a written recording reads as itself");
  for (const RecordedRow& row : recording.rows) (void)teraflops(row);
}

const Target kTarget("recording", read);

}  // namespace natten_sim::fuzz::recording
