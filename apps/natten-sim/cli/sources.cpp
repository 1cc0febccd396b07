#include "cli/sources.hpp"

#include <algorithm>

#include <natten_sim/core/error.hpp>

namespace natten_sim::cli {
namespace {

/// A picture on standard output stands in place of the text for people. JSON or CSV was asked for, so it
/// needs a place of its own.
void refuse_two_outputs(const Sources& sources) {
  const char* const format = sources.given("json") ? "--json" : sources.given("csv") ? "--csv" : nullptr;
  if (format == nullptr || sources.given("output")) return;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string& name = sources.name(i);
    if (name != "svg" && !name.starts_with("svg-")) continue;
    if (sources[i].words != nullptr && *sources[i].words == std::vector<std::string>{"-"}) {
      throw InvalidParameter("--" + name, std::string("standard output, given together with ") + format,
                             std::string("a file, or --output FILE for the answer of ") + format);
    }
  }
}

}  // namespace

Sources::Sources(const Command& command) {
  for (const OptionSpec& spec : command.options) names_.push_back(spec.name());
  if (!command.positional.empty()) names_.push_back(command.positional);
  sources_.resize(names_.size());
}

bool Sources::given(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found != names_.end() && sources_[static_cast<std::size_t>(found - names_.begin())].given();
}

void check_company(const Command& command, const Sources& sources) {
  refuse_two_outputs(sources);
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    if (!sources[i].given()) continue;
    const OptionSpec& spec = command.options[i];
    const std::string& name = sources.name(i);
    for (const std::string& other : spec.excludes) {
      if (!sources.given(other)) continue;
      throw InvalidParameter("--" + name, "given together with --" + other,
                             "one of the two for '" + command.name + "'");
    }
    for (const std::string& other : spec.rules_out.options) {
      if (!sources.given(other)) continue;
      throw InvalidParameter("--" + other, "given together with --" + name, spec.rules_out.accepted);
    }
    for (const Need& need : spec.needs) {
      if (sources.given(need.option)) continue;
      throw InvalidParameter((need.with_dashes ? "--" : "") + name, "given without --" + need.option,
                             need.accepted);
    }
  }
}

}  // namespace natten_sim::cli
