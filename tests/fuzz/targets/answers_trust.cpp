// How many measured answers lay in their intervals.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_trust {

void read(std::string_view input) {
  Decisions bytes(input);
  Json options = Json::object();
  Json regimes = Json::array();
  for (std::int64_t i = bytes.below(3); i > 0; --i)
    regimes.push_back(bytes.one_of({"hopper-fna", "backward", "forward", "head dim 64", "fa2", "flex", "nothing"}));
  if (!regimes.empty()) options["regime"] = regimes;
  if (bytes.yes()) options["kind"] = bytes.one_of({"time", "schedule", "scatter", "luck"});
  if (bytes.yes()) options["device"] = bytes.one_of({"h200", "h100", "a100"});
  if (bytes.yes()) options["answers"] = true;
  if (!check_answers("trust", options)) refuse_input();
}

const Target kTarget("answers_trust", read);

}  // namespace natten_sim::fuzz::answers_trust
