// Why launches of a profile read what they read.
#include "fuzz/answers.hpp"
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::answers_explain {

/// A profile of one or two launches, as ncu --csv prints it.
std::string profile(Decisions& bytes) {
  std::string text = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
  const std::int64_t launches = bytes.between(1, 2);
  for (std::int64_t id = 0; id < launches; ++id) {
    const std::string line = std::to_string(id) + "," + bytes.one_of({"flash_fwd_kernel", "mine", "triton_flex_attention"}) + ",";
    const auto metric = [&](const char* name, const char* unit, std::int64_t value) {
      text += line + name + "," + unit + "," + std::to_string(value) + "\n";
    };
    metric("dram__bytes_read.sum", "byte", 1024 * bytes.between(1, 60000));
    if (bytes.yes()) metric("l1tex__m_xbar2l1tex_read_sectors.sum", "sector", 32 * bytes.between(1, 60000));
    if (bytes.yes()) metric("gpu__time_duration.sum", "ns", 1000 * bytes.between(1, 60000));
  }
  return text;
}

void read(std::string_view input) {
  Decisions bytes(input);
  const MemoryFile file(profile(bytes));
  Json options = {{"profile", file.path()}};
  options["device"] = bytes.one_of({"h200", "h100", "a100"});
  if (bytes.yes()) options["family"] = bytes.one_of({"fa2", "flexattention", "triton", "any"});
  if (bytes.yes()) options["seqlen"] = bytes.one_of({512, 1000, 4096});
  if (bytes.yes()) options["heads"] = bytes.between(1, 4);
  if (bytes.yes()) options["head_dim"] = bytes.one_of({64, 128});
  if (bytes.yes()) options["causal"] = true;
  if (bytes.yes()) options["q_tile"] = bytes.one_of({64, 128});
  if (bytes.yes()) options["kv_tile"] = bytes.one_of({32, 64, 128});
  if (!check_answers("explain", options)) refuse_input();
}

const Target kTarget("answers_explain", read);

}  // namespace natten_sim::fuzz::answers_explain
