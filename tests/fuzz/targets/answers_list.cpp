// Tables of names.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_list {

void read(std::string_view input) {
  Decisions bytes(input);
  Json options = Json::object();
  options["what"] = bytes.one_of({"presets", "devices", "kernels", "backends", "releases", "transfers", "coverage",
                                  "h200", "wan", "hunyuan-video", "nothing"});
  if (bytes.yes()) options["measured_only"] = true;
  if (!check_answers("list", options)) refuse_input();
}

const Target kTarget("answers_list", read);

}  // namespace natten_sim::fuzz::answers_list
