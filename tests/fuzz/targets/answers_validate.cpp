// Profiles beside predictions, and the suites.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_validate {

/// A profile of one launch, as ncu --csv prints it.
std::string profile(Decisions& bytes) {
  return "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
         "0,kernel,dram__bytes_read.sum,byte," + std::to_string(1024 * bytes.between(1, 60000)) + "\n"
         "0,kernel,l1tex__m_xbar2l1tex_read_sectors.sum,sector," + std::to_string(32 * bytes.between(1, 60000)) + "\n";
}

void read(std::string_view input) {
  Decisions bytes(input);
  const MemoryFile file(profile(bytes));
  Json options = Json::object();
  if (bytes.yes()) {
    options["list"] = true;
    if (bytes.yes()) options["suites"] = Json::array({bytes.one_of({"stream", "reuse", "pace"})});
  } else {
    options["ncu_csv"] = file.path();
    Json point = Json::array({"tokens=" + std::to_string(512 * bytes.between(1, 8)), "head_dim=128", "q_tile=128"});
    point.push_back("kv_tile=" + std::to_string(bytes.one_of({64, 128})));
    point.push_back("ctas_per_sm=" + std::to_string(bytes.between(1, 2)));
    point.push_back(std::string("schedule=") + bytes.one_of({"grid", "persistent"}));
    point.push_back(std::string("order=") + bytes.one_of({"cyclic", "sawtooth", "descending"}));
    options["point"] = point;
    if (bytes.yes()) options["profile"] = bytes.one_of({"h200", "h100", "a100"});
    if (bytes.yes()) options["rows"] = true;
  }
  if (!check_answers("validate", options)) refuse_input();
}

const Target kTarget("answers_validate", read);

}  // namespace natten_sim::fuzz::answers_validate
