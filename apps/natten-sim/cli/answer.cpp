#include <algorithm>
#include <memory>
#include <new>

#include "cli/command.hpp"
#include "cli/limits.hpp"
#include "cli/sources.hpp"

// What a run does once its options are known, wherever they come from. Without CLI11: the module in a browser
// has no command line.

namespace natten_sim::cli {

std::string OptionSpec::name() const {
  const std::size_t begin = flags.find("--") + 2;
  return flags.substr(begin, flags.find(',', begin) - begin);
}

bool OptionSpec::has_flag(const std::string& flag) const {
  return ("," + flags + ",").find("," + flag + ",") != std::string::npos;
}

std::string flag_of_key(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

bool OptionSpec::spells(const std::string& flag) const {
  return has_flag(flag) || std::any_of(spellings.begin(), spellings.end(),
                                       [&](const OtherSpelling& spelling) { return spelling.flag == flag; });
}

bool OptionSpec::reads(const std::string& flag) const {
  return has_flag(flag) ||
         std::any_of(spellings.begin(), spellings.end(), [&](const OtherSpelling& spelling) {
           return spelling.flag == flag && spelling.with == nullptr;
         });
}

int answer(const Command& command, const Sources& sources) {
  const std::unique_ptr<Form> form = command.begin();
  Given given;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].given()) continue;
    given.add(sources.name(i));
    if (sources[i].words != nullptr) {
      form->take(i, *sources[i].words);
    } else {
      form->take(i, *sources[i].file);
    }
  }
  const RunLimits limits(command, sources);
  try {
    return form->answer(given);
  } catch (const std::bad_alloc&) {
    limits.explain_lack_of_memory();
    throw;
  }
}

}  // namespace natten_sim::cli
