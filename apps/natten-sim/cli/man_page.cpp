#include "cli/man_page.hpp"

#include <natten_sim/core/version.hpp>

#include "cli/help.hpp"

namespace natten_sim::cli {
namespace {

/// Text of a page: roff's specials are escaped, and no line is taken for a request.
std::string roff_text(const std::string& text) {
  std::string page;
  for (const char c : text) {
    if (page.empty() || page.back() == '\n') {
      if (c == '.' || c == '\'') page += "\\&";
    }
    if (c == '\\') {
      page += "\\e";
    } else if (c == '-') {
      page += "\\-";
    } else if (c == '`') {
      page += "\\(ga";
    } else if (c == '\'') {
      page += "\\(aq";
    } else {
      page += c;
    }
  }
  return page;
}

std::string roff_title(const std::string& name) {
  std::string upper;
  for (const char c : name) upper += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return ".TH \"" + roff_text(upper) + "\" 1 \"\" \"natten\\-sim " + roff_text(version()) + "\" \"natten\\-sim\"\n";
}

std::string roff_section(const std::string& name) { return ".SH " + name + "\n"; }

std::string roff_entry(const std::string& left, const std::string& right) {
  return ".TP\n\\fB" + roff_text(left) + "\\fR\n" + roff_text(right) + "\n";
}

/// A line that begins with a space stands as it is.
std::string roff_paragraphs(const std::string& text) {
  std::string page;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.starts_with(' ')) {
      page += ".br\n\\&" + roff_text(line) + "\n";
    } else {
      page += ".PP\n" + roff_text(line) + "\n";
    }
    begin = end + 1;
  }
  return page;
}

std::string roff_examples(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string page = roff_section("EXAMPLES") + ".nf\n";
  for (const std::string& line : lines) page += "\\&" + roff_text(line) + "\n";
  return page + ".fi\n";
}

}  // namespace

std::string command_man_page(const Command& command) {
  const std::string name = "natten-sim-" + command.name;
  std::string page = roff_title(name);
  page += roff_section("NAME") + roff_text(name) + " \\- " + roff_text(command.summary) + "\n";
  page += roff_section("SYNOPSIS") + "\\fB" + roff_text(usage(command)) + "\\fR\n";
  page += roff_examples(command.examples);
  page += roff_section("OPTIONS");
  if (!command.positional.empty()) page += roff_entry(command.positional, command.positional_help);
  for (const OptionGroup& group : option_groups(command)) {
    page += ".SS \"" + roff_text(group.title) + "\"\n";
    for (const OptionSpec* option : group.options) page += roff_entry(spelled(*option), explained_with_range(*option));
  }
  if (!command.notes.empty()) page += roff_section("NOTES") + roff_paragraphs(command.notes);
  if (!command.exit_codes.empty()) page += roff_section("EXIT STATUS") + roff_text(command.exit_codes) + "\n";
  return page + roff_section("SEE ALSO") + ".BR natten\\-sim (1)\n";
}

std::string program_man_page(const std::vector<Command>& commands) {
  const ProgramText& program = program_text();
  std::string page = roff_title("natten-sim");
  page += roff_section("NAME") + "natten\\-sim \\- predict how GPU attention kernels behave\n";
  page += roff_section("SYNOPSIS") + "\\fBnatten\\-sim\\fR \\fISUBCOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  page += roff_section("DESCRIPTION") + roff_text(program.summary) + "\n";
  page += roff_examples(program.examples);
  page += roff_section("SUBCOMMANDS");
  std::string others;
  for (const CommandGroup& group : command_groups(commands)) {
    page += ".SS \"" + roff_text(group.title) + "\"\n";
    for (const Command* command : group.commands) {
      page += roff_entry(command->name, command->summary);
      others += (others.empty() ? ".BR natten\\-sim\\-" : " ,\n.BR natten\\-sim\\-") + roff_text(command->name) + " (1)";
    }
  }
  page += roff_section("ENVIRONMENT");
  for (const auto& [variable, meaning] : program.environment) page += roff_entry(variable, meaning);
  page += roff_section("EXIT STATUS") + roff_text(program.exit_codes) + "\n";
  return page + roff_section("SEE ALSO") + others + "\n";
}

}  // namespace natten_sim::cli
