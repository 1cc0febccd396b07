// Searches of small layouts.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_search {

void read(std::string_view input) {
  Decisions bytes(input);
  const std::int64_t axes = bytes.between(1, 2), most = axes == 1 ? 48 : 12;
  Json options = {{"input", bytes.several(axes, 2, most)}};
  if (bytes.yes()) options["device"] = bytes.one_of({"h200", "h100", "a100", "b200"});
  if (bytes.yes()) options["window"] = bytes.several(axes, 2, most);
  if (bytes.yes()) options["q_tile"] = bytes.several(axes, 1, 16);
  if (options.contains("q_tile")) options["kv_tile"] = bytes.several(axes, 1, 16);
  if (bytes.yes()) options["causal"] = bytes.yes();
  if (bytes.yes()) options["sparsity"] = bytes.one_of({"0:0.5", "0.5:0.9", "0.9"});
  if (bytes.yes()) options["top"] = bytes.between(1, 8);
  if (bytes.yes()) options["objective"] = bytes.one_of({"mean", "worst", "work", "time"});
  if (!check_answers("search", options)) refuse_input();
}

const Target kTarget("answers_search", read);

}  // namespace natten_sim::fuzz::answers_search
