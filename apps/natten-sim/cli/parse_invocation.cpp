#include <utility>

#include <CLI/CLI.hpp>

#include <natten_sim/core/error.hpp>

#include "cli/command_line.hpp"
#include "cli/config.hpp"
#include "cli/invocation.hpp"

namespace natten_sim::cli {

Invocation parse_invocation(const std::vector<std::string>& words, const std::vector<Command>& commands) {
  if (words.empty()) throw InvalidParameter("subcommand", "not given", "the name of one, and its options");
  Invocation invocation(words.front(), commands);
  const Command& command = invocation.command();
  CLI::App app;
  const Declared declared = declare(app, command);
  std::vector<std::string> notes;
  const std::vector<std::string> options = respelled(command, {words.begin() + 1, words.end()}, notes);
  refuse_repeats(command, options);
  try {
    app.parse(std::vector<std::string>(options.rbegin(), options.rend()));
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what(), commands, &command, app.remaining(true));
  }
  Sources sources = sources_of(command, declared, {});
  merge_config(commands, sources);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources.name(i) == kOptionsFile) continue;  // read
    if (sources[i].words) {
      invocation.set(sources.name(i), *sources[i].words);
    } else if (sources[i].value) {
      invocation.set(sources[i].spelled, *sources[i].value);
    }
  }
  return invocation;
}

}  // namespace natten_sim::cli
