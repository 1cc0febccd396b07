#include <natten_sim/study/describe/other_names.hpp>

#include <algorithm>
#include <utility>

#include <natten_sim/io/value_text.hpp>

namespace natten_sim::study {
namespace {

constexpr std::pair<const char*, const char*> kOfNatten[] = {
    {"window", "kernel_size"},
    {"heads", "num_heads"},
    {"kernel_schedule", "schedule"},
    {"causal", "is_causal"},
    {"q_tile", "q_tile_shape"},
    {"kv_tile", "kv_tile_shape"},
    {"backward_q_tile", "backward_q_tile_shape"},
    {"backward_kv_tile", "backward_kv_tile_shape"},
};

/// Without its dashes: kernel_size.
std::string name_of_flag(const std::string& flag) {
  std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

const char* name_in_natten(std::string_view member) {
  for (const auto& [own, theirs] : kOfNatten) {
    if (member == own) return theirs;
  }
  return nullptr;
}

std::vector<std::string> other_names(const std::string& member, const About& about) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (!name.empty() && name != member && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  };
  for (const std::string& flag : split_text(about.flags, ',')) add(name_of_flag(flag));
  for (const OtherSpelling& spelling : about.spellings) {
    if (spelling.with == nullptr) add(name_of_flag(spelling.flag));
  }
  if (const char* const theirs = name_in_natten(member)) add(theirs);
  return names;
}

}  // namespace natten_sim::study
