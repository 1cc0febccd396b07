// Counts of tiles, with and without a device.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_count {

void read(std::string_view input) {
  Decisions bytes(input);
  const std::int64_t axes = bytes.between(1, 3), most = axes == 1 ? 64 : axes == 2 ? 20 : 9;
  Json options = {{"input", bytes.several(axes, 1, most)}};
  if (bytes.yes()) options["window"] = bytes.several(axes, 2, most);
  if (bytes.yes()) options["stride"] = bytes.several(axes, 1, most);
  if (bytes.yes()) options["dilation"] = bytes.several(axes, 1, 3);
  if (bytes.yes()) options["q_tile"] = bytes.several(axes, 1, most);
  if (options.contains("q_tile")) options["kv_tile"] = bytes.several(axes, 1, most);
  if (bytes.yes()) options["causal"] = bytes.yes();
  if (bytes.yes()) options["device"] = bytes.one_of({"h200", "h100", "a100", "b200", "rtx4090"});
  if (bytes.yes()) options["heads"] = bytes.between(1, 32);
  if (bytes.yes()) options["dim"] = bytes.one_of({64, 128, 32, 96});
  if (bytes.yes()) options["add_kv"] = bytes.between(0, 64);
  if (bytes.yes()) options["kv_tiling"] = bytes.one_of({"static", "dynamic"});
  if (bytes.yes()) options["backprop"] = true;
  if (!check_answers("count", options)) refuse_input();
}

const Target kTarget("answers_count", read);

}  // namespace natten_sim::fuzz::answers_count
