// Scattered additions.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_atomics {

void read(std::string_view input) {
  Decisions bytes(input);
  Json options = {{"updates", bytes.between(1, 4096)}, {"rows", bytes.between(1, 2048)}};
  if (bytes.yes()) options["width"] = bytes.between(1, 512);
  if (bytes.yes()) options["distribution"] = bytes.one_of({"uniform", "zipf:1.1", "zipf:0.5", "hot:3"});
  if (bytes.yes()) options["dtype"] = bytes.one_of({"bf16", "fp16", "fp32"});
  if (bytes.yes()) options["path"] = bytes.one_of({"auto", "cas", "red"});
  if (bytes.yes()) options["seed"] = bytes.between(0, 255);
  if (bytes.yes()) options["device"] = bytes.one_of({"h200", "h100"});
  if (bytes.yes()) options["prior_runs"] = bytes.between(0, 4);
  if (!check_answers("atomics", options)) refuse_input();
}

const Target kTarget("answers_atomics", read);

}  // namespace natten_sim::fuzz::answers_atomics
