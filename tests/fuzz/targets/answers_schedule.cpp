// Backward schedules of a few tiles.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_schedule {

void read(std::string_view input) {
  Decisions bytes(input);
  Json options = {{"q_tiles", bytes.between(1, 12)}, {"heads", bytes.between(1, 3)}};
  if (bytes.yes()) options["kv_tiles"] = bytes.between(1, 12);
  if (bytes.yes()) options["mask"] = bytes.one_of({"causal", "full", "window:2,0", "prefix:3"});
  if (bytes.yes()) options["workers"] = bytes.between(1, 16);
  if (bytes.yes())
    options["algorithm"] = bytes.one_of(
        {"spt", "ascending", "descending", "shift", "two-pass", "unordered", "best", "symmetric-shift"});
  if (bytes.yes()) options["compute"] = bytes.between(1, 4);
  if (bytes.yes()) options["reduce"] = bytes.between(0, 4);
  if (bytes.yes()) options["handoff"] = bytes.between(0, 8);
  if (bytes.yes()) options["overlap"] = bytes.one_of({"serial", "parallel"});
  if (bytes.yes()) options["seed"] = bytes.between(0, 255);
  if (!check_answers("schedule", options)) refuse_input();
}

const Target kTarget("answers_schedule", read);

}  // namespace natten_sim::fuzz::answers_schedule
