// Costs from a few runs, and which runs to measure.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_calibrate {

std::string runs(Decisions& bytes) {
  std::string text = "kernel,device,pass,input,heads,window,q_tile,kv_tile,ms\n";
  const std::string kernel = bytes.one_of({"flexattention", "hopper-fna"});
  const std::string tiles = kernel == "hopper-fna" ? ",8x8,8x16," : ",8x8,8x8,";
  for (std::int64_t i = bytes.between(1, 8); i > 0; --i) {
    const std::int64_t window = bytes.between(2, 32);
    text += kernel + ",h200," + bytes.one_of({"forward", "backward"}) + ",64x64," + std::to_string(bytes.between(1, 64)) +
            "," + std::to_string(window) + "x" + std::to_string(window) + tiles +
            std::to_string(0.01 * static_cast<double>(bytes.between(1, 200))) + "\n";
  }
  return text;
}

void read(std::string_view input) {
  Decisions bytes(input);
  Json options = Json::object();
  const MemoryFile file(runs(bytes));
  if (bytes.yes()) {
    options["plan"] = true;
    options["kernel"] = bytes.one_of({"hopper-fna", "flexattention", "fa2", "cudnn", "nothing"});
    options["device"] = bytes.one_of({"h200", "h100", "a100"});
  } else {
    options["runs"] = file.path();
  }
  if (bytes.yes()) options["dim"] = bytes.one_of({64, 128});
  if (bytes.yes()) options["suggestions"] = bytes.between(0, 4);
  if (!check_answers("calibrate", options)) refuse_input();
}

const Target kTarget("answers_calibrate", read);

}  // namespace natten_sim::fuzz::answers_calibrate
