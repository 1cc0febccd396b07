#include <algorithm>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/citations.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

struct CiteFlags {
  std::string of;  ///< a subcommand; empty: every work
  std::optional<std::string> output;
};

bool is_for(const Citation& work, const std::string& subcommand) {
  return subcommand.empty() || work.subcommands.empty() ||
         std::find(work.subcommands.begin(), work.subcommands.end(), subcommand) != work.subcommands.end();
}

std::vector<std::string> cited_subcommands() {
  std::vector<std::string> names;
  for (const Citation& work : builtin_citations()) {
    for (const std::string& name : work.subcommands) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

/// Braces around the title keep its capitals.
std::string bibtex(const Citation& work) {
  std::string text = "@" + work.type + "{" + work.key + ",\n  author = {" + joined(work.authors, " and ") +
                     "},\n  title = {{" + work.title + "}},\n";
  for (const auto& [name, value] : work.fields) text += "  " + name + " = {" + value + "},\n";
  return text + "}\n";
}

int run_cite(const CiteFlags& flags) {
  const std::vector<std::string> names = cited_subcommands();
  if (!flags.of.empty() && std::find(names.begin(), names.end(), flags.of) == names.end())
    throw UnknownName("subcommand", flags.of, closest_name(flags.of, names), joined(names));
  std::string text;
  for (const Citation& work : builtin_citations()) {
    if (is_for(work, flags.of)) text += (text.empty() ? "" : "\n") + bibtex(work);
  }
  write_output({.output = flags.output}, text);
  return kExitDone;
}

}  // namespace

Command cite_command();
Command cite_command() {
  Options<CiteFlags> rows;
  rows.positional("subcommand", &CiteFlags::of,
                  {.help = "A subcommand whose answer you use: only what its model is taken from",
                   .suggestions = cited_subcommands});
  rows.add("--output", &CiteFlags::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  rows.group(kOutputGroup);
  Command command{.name = "cite",
                  .position = 98,
                  .group = kHelpCommands,
                  .summary = "Print BibTeX of this software and of the works whose models it uses",
                  .examples = {"natten-sim cite", "natten-sim cite schedule"},
                  .exit_codes = "0 done, 1 internal error, 2 bad input."};
  bind(command, rows, run_cite);
  return command;
}

}  // namespace natten_sim::cli
