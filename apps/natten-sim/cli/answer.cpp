#include <algorithm>
#include <memory>
#include <new>

#include "cli/command.hpp"
#include "cli/limits.hpp"
#include "cli/reply.hpp"
#include "cli/sources.hpp"

// What a run does once its options are known, wherever they come from. Without CLI11: the module in a browser
// has no command line.

namespace natten_sim::cli {

std::string OptionSpec::name() const {
  const std::size_t begin = flags.find("--") + 2;
  return flags.substr(begin, flags.find(',', begin) - begin);
}

bool OptionSpec::is_called(std::string_view name) const {
  const std::size_t begin = flags.find("--") + 2;
  return std::string_view(flags).substr(begin, flags.find(',', begin) - begin) == name;
}

std::vector<std::string> OptionSpec::keys() const {
  std::vector<std::string> keys = {key};
  const auto add = [&](std::string flag) {
    flag.erase(0, flag.find_first_not_of('-'));
    std::replace(flag.begin(), flag.end(), '-', '_');
    if (std::find(keys.begin(), keys.end(), flag) == keys.end()) keys.push_back(std::move(flag));
  };
  for (std::size_t begin = 0; begin < flags.size(); begin = std::min(flags.find(',', begin), flags.size()) + 1)
    add(flags.substr(begin, flags.find(',', begin) - begin));
  for (const OtherSpelling& spelling : spellings) {
    if (spelling.with == nullptr) add(spelling.flag);
  }
  if (keys.front().empty()) keys.erase(keys.begin());
  return keys;
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

bool Given::has(const std::string& name) const { return sources_->given(name); }

std::unique_ptr<Form> filled_form(const Sources& sources) {
  std::unique_ptr<Form> form = sources.command().begin();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    if (source.words) {
      form->take(i, *source.words);
    } else if (source.value) {
      form->take(i, source.spelled, *source.value);
    }
  }
  return form;
}

int answer(const Sources& sources) {
  const std::unique_ptr<Form> form = filled_form(sources);
  const RunLimits limits(sources);
  try {
    Reply reply(Reply::Mode::kPrinted);
    return form->answer(Given(sources), reply);
  } catch (const std::bad_alloc&) {
    limits.explain_lack_of_memory();
    throw;
  }
}

}  // namespace natten_sim::cli
