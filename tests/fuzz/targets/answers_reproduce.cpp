// Figures of publications that are recomputed at once.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_reproduce {

void read(std::string_view input) {
  Decisions bytes(input);
  Json options = Json::object();
  if (bytes.yes()) options["work"] = bytes.one_of({"gna", "GNA", "nobody"});
  if (bytes.yes()) options["figure"] = bytes.one_of({"4.5", "figure 4.5", "table 4.2", "4.2", "99"});
  if (!check_answers("reproduce", options)) refuse_input();
}

const Target kTarget("answers_reproduce", read);

}  // namespace natten_sim::fuzz::answers_reproduce
