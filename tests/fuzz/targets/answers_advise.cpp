// Advice for small models.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_advise {

void read(std::string_view input) {
  Decisions bytes(input);
  const std::int64_t axes = bytes.between(1, 3), most = axes == 1 ? 512 : axes == 2 ? 32 : 12;
  Json options = {{"input", bytes.several(axes, 2, most)}};
  options["device"] = bytes.one_of({"h200", "h100", "a100", "b200"});
  if (bytes.yes()) options["heads"] = bytes.between(1, 32);
  if (bytes.yes()) options["dim"] = bytes.one_of({64, 128, 32});
  if (bytes.yes()) options["for"] = bytes.one_of({"inference", "training"});
  if (bytes.yes()) options["sparsity"] = bytes.one_of({"0.5", "0.8", "0.3:0.9"});
  if (bytes.yes()) options["window"] = bytes.several(axes, 2, most);
  if (!check_answers("advise", options)) refuse_input();
}

const Target kTarget("answers_advise", read);

}  // namespace natten_sim::fuzz::answers_advise
