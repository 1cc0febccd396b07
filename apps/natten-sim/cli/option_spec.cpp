// The part of a row that CLI11, help and completion need: its spellings, and what its help says.
#include <algorithm>

#include <natten_sim/io/value_text.hpp>
#include <natten_sim/study/describe/other_names.hpp>

#include "cli/option_value.hpp"

namespace natten_sim::cli {
namespace {

std::vector<OtherSpelling> spellings_of(const std::string& flags, const About& about) {
  std::vector<OtherSpelling> spellings = about.spellings;
  std::string name = OptionSpec{.flags = flags}.name();
  std::replace(name.begin(), name.end(), '-', '_');
  if (const char* const theirs = study::name_in_natten(name))
    spellings.push_back({.flag = flag_of_key(theirs), .bare = about.bare});
  if (about.bare != nullptr) {
    for (const std::string& flag : split_text(flags, ','))
      spellings.push_back({.flag = flag, .bare = about.bare});
  }
  return spellings;
}

}  // namespace

OptionSpec spec_of(const std::string& flags, const About& about, int max_values, const std::string& choices) {
  return {.flags = flags,
          .value_name = about.value,
          .help = about.help,
          .max_values = max_values,
          .choices = choices,
          .excludes = about.excludes,
          .needs = about.needs,
          .rules_out = about.rules_out,
          .spellings = spellings_of(flags, about),
          .suggestions = about.suggestions,
          .key = json_key(flags, about)};
}

}  // namespace natten_sim::cli
