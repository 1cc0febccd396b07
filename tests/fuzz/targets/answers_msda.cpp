// Multi-scale deformable attention.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_msda {

void read(std::string_view input) {
  Decisions bytes(input);
  std::string shape = "B" + std::to_string(bytes.between(1, 2));
  shape += "_" + std::to_string(bytes.between(16, 128)) + "x" + std::to_string(bytes.between(16, 128));
  shape += "_d" + std::to_string(8 * bytes.between(1, 8)) + "_L" + std::to_string(bytes.between(1, 4));
  shape += "_h" + std::to_string(bytes.between(1, 4)) + "_p" + std::to_string(bytes.between(1, 4));
  shape += "_q" + std::to_string(bytes.between(1, 200));
  Json options = {{"workload", shape}};
  if (bytes.yes()) options["phase"] = bytes.one_of({"forward", "backward"});
  if (bytes.yes()) options["tiling"] = bytes.one_of({"block", "point"});
  if (bytes.yes()) options["dtype"] = bytes.one_of({"bf16", "fp16", "fp32"});
  if (bytes.yes()) options["order"] = bytes.one_of({"linear", "hilbert", "all"});
  if (bytes.yes()) options["offsets"] = bytes.one_of({"uniform", "gaussian"});
  if (bytes.yes()) options["seed"] = bytes.between(0, 255);
  if (!check_answers("msda", options)) refuse_input();
}

const Target kTarget("answers_msda", read);

}  // namespace natten_sim::fuzz::answers_msda
