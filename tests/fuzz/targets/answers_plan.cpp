// Plans of whole models.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_plan {

void read(std::string_view input) {
  Decisions bytes(input);
  const std::int64_t axes = bytes.between(1, 3), most = axes == 1 ? 512 : axes == 2 ? 32 : 12;
  Json options = {{"input", bytes.several(axes, 2, most)}};
  options["device"] = bytes.one_of({"h200", "h100", "a100", "b200"});
  if (bytes.yes()) options["window"] = bytes.several(axes, 2, most);
  if (bytes.yes()) options["heads"] = bytes.between(1, 32);
  if (bytes.yes()) options["dim"] = bytes.one_of({64, 128});
  if (bytes.yes()) options["layers"] = bytes.between(1, 64);
  if (bytes.yes()) options["passes"] = bytes.between(1, 2);
  if (bytes.yes()) options["gpus"] = bytes.between(1, 8);
  if (bytes.yes()) options["parallel"] = bytes.one_of({"heads", "sequence", "ring"});
  if (bytes.yes()) options["for"] = bytes.one_of({"inference", "training"});
  if (bytes.yes()) options["samples"] = bytes.between(1, 100);
  if (bytes.yes()) options["dollars_per_hour"] = bytes.between(0, 10);
  if (!check_answers("plan", options)) refuse_input();
}

const Target kTarget("answers_plan", read);

}  // namespace natten_sim::fuzz::answers_plan
