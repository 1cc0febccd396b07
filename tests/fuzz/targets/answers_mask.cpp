// Blocks and time under other masks.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_mask {

void read(std::string_view input) {
  Decisions bytes(input);
  const std::int64_t tokens = 16 * bytes.between(1, 64);
  Json options = {{"seqlen_q", tokens}};
  options["mask"] =
      bytes.one_of({"causal", "full", "window:40,0", "prefix:20", "causal|prefix:33", "causal&window:50,0"});
  if (bytes.yes()) options["device"] = bytes.one_of({"h200", "h100", "b200"});
  if (bytes.yes()) options["q_tile"] = bytes.one_of({64, 128, 16, 48, 256});
  if (bytes.yes()) options["kv_tile"] = bytes.one_of({64, 128, 16, 48, 256});
  if (bytes.yes()) options["heads"] = bytes.between(1, 16);
  if (bytes.yes()) options["dim"] = bytes.one_of({64, 128, 32});
  if (bytes.yes()) options["backprop"] = true;
  if (!check_answers("mask", options)) refuse_input();
}

const Target kTarget("answers_mask", read);

}  // namespace natten_sim::fuzz::answers_mask
