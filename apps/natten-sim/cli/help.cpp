#include "cli/help.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/format.h>

namespace natten_sim::cli {
namespace {

constexpr std::size_t kMargin = 2, kColumn = 28;
constexpr const char* kOtherOptions = "Options";

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// Words of `text` on lines of at most `width` columns; the first line goes on at column `at`.
std::string wrapped_at(const std::string& text, std::size_t indent, std::size_t at, int width) {
  std::string page;
  bool first = true;
  for (const std::string& word : parts_of(text, ' ')) {
    if (word.empty()) continue;
    if (!first && at + 1 + word.size() > static_cast<std::size_t>(width)) {
      page += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      page += ' ';
      ++at;
    }
    page += word;
    at += word.size();
    first = false;
  }
  return page;
}

/// The words of a command line, those of an option together with it where `room` suffices; quotes stay whole.
std::vector<std::string> chunks_of(const std::string& line, std::size_t room) {
  std::vector<std::string> chunks(1);
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const char next = i + 1 < line.size() ? line[i + 1] : ' ';
    const std::size_t word_end = std::min(line.find(' ', i + 1), line.size());
    const bool full = chunks.back().size() + word_end - i > room;
    if (quote == 0 && c == ' ' && (next == '-' || next == '|' || next == '>' || full)) {
      chunks.emplace_back();
      continue;
    }
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    }
    chunks.back() += c;
  }
  return chunks;
}

/// A command line that is too long goes on behind a backslash, as it may be typed.
std::string command_line(const std::string& text, int width) {
  std::string page(kMargin, ' ');
  std::size_t at = kMargin;
  for (const std::string& chunk : chunks_of(text, static_cast<std::size_t>(width) - 4 * kMargin)) {
    if (at > kMargin && at + 1 + chunk.size() + 2 > static_cast<std::size_t>(width)) {
      page += " \\\n" + std::string(3 * kMargin, ' ');
      at = 3 * kMargin;
    } else if (at > kMargin) {
      page += ' ';
      ++at;
    }
    page += chunk;
    at += chunk.size();
  }
  return page + "\n";
}

/// A page under construction.
class Page {
 public:
  explicit Page(const HelpStyle& style) : style_(style) {}

  void heading(const std::string& text) {
    text_ += "\n" + style_.palette.paint(Emphasis::kHeading, text + ":") + "\n";
  }

  /// A line that begins with a space stands as it is.
  void paragraphs(const std::string& text) {
    for (const std::string& line : parts_of(text, '\n')) {
      text_ += (line.starts_with(' ') ? line : wrapped_at(line, 0, 0, style_.width)) + "\n";
    }
  }

  void examples(const std::vector<std::string>& lines, std::size_t most) {
    if (lines.empty()) return;
    heading("Examples");
    for (std::size_t i = 0; i < std::min(most, lines.size()); ++i)
      text_ += command_line(lines[i], style_.width);
  }

  /// `left` and its explanation beside it, or below it where `left` is long.
  void entry(const std::string& left, const std::string& right) {
    std::string line = std::string(kMargin, ' ') + style_.palette.paint(Emphasis::kOption, left);
    const std::size_t width = kMargin + left.size();
    // On a narrow page nothing stands beside anything.
    const std::size_t column = style_.width < 60 ? 3 * kMargin : kColumn;
    if (width + 2 > column) {
      line += "\n" + std::string(column, ' ');
    } else {
      line += std::string(column - width, ' ');
    }
    text_ += line + wrapped_at(right, column, column, style_.width) + "\n";
  }

  void blank() { text_ += "\n"; }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  const HelpStyle& style_;
  std::string text_;
};

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

void put_options(const Command& command, HelpDetail detail, Page& page) {
  if (detail == HelpDetail::kShort) {
    page.heading("Options to begin with");
    for (const OptionSpec& option : command.options) {
      if (option.essential) page.entry(spelled(option), explained(option));
    }
    page.entry("--help", fmt::format("All {} options", command.options.size()));
    return;
  }
  for (const OptionGroup& group : option_groups(command)) {
    page.heading(group.title);
    for (const OptionSpec* option : group.options) page.entry(spelled(*option), explained_with_range(*option));
  }
  page.heading("Help");
  page.entry("-h", "Examples and the options to begin with");
  page.entry("--help", "This page");
}

template <typename Group, typename Members, typename Item>
void put_in_group(std::vector<Group>& groups, const std::string& title, Members members, const Item* item) {
  auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return group.title == title; });
  if (found == groups.end()) found = groups.insert(groups.end(), Group{.title = title});
  ((*found).*members).push_back(item);
}

}  // namespace

std::vector<OptionGroup> option_groups(const Command& command) {
  std::vector<OptionGroup> groups;
  for (const OptionSpec& option : command.options)
    put_in_group(groups, option.group.empty() ? kOtherOptions : option.group, &OptionGroup::options, &option);
  // What every subcommand has comes last.
  for (const char* last : {kFilesGroup, kOutputGroup})
    std::stable_partition(groups.begin(), groups.end(), [&](const OptionGroup& group) { return group.title != last; });
  return groups;
}

std::vector<CommandGroup> command_groups(const std::vector<Command>& commands) {
  std::vector<CommandGroup> groups;
  for (const Command& command : commands)
    put_in_group(groups, command.group, &CommandGroup::commands, &command);
  return groups;
}

std::string usage(const Command& command) {
  std::string line = "natten-sim " + command.name;
  if (!command.positional.empty() && command.passes_on)
    return line + " " + in_capitals(command.positional) + " [OPTIONS]";
  line += " [OPTIONS]";
  if (!command.positional.empty())
    line += " [" + in_capitals(command.positional) + (command.max_positional > 1 ? "..." : "") + "]";
  return line;
}

std::string spelled(const OptionSpec& option) {
  std::string text;
  for (const std::string& flag : parts_of(option.flags, ',')) text += (text.empty() ? "" : ", ") + flag;
  if (!option.value_name.empty()) text += " " + option.value_name;
  return option.max_values > 1 ? text + "..." : text;
}

std::string explained(const OptionSpec& option) {
  if (option.choices.empty()) return option.help;
  const std::vector<std::string> choices = parts_of(option.choices, ' ');
  const bool all_named = std::all_of(choices.begin(), choices.end(), [&](const std::string& choice) {
    return option.help.find(choice) != std::string::npos;
  });
  if (all_named) return option.help;
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ", ") + choice;
  return option.help + "; one of " + list;
}

std::string explained_with_range(const OptionSpec& option) {
  const std::string text = explained(option);
  const bool said = option.range.empty() || text.find(option.range) != std::string::npos;
  return said ? text : text + "; " + option.range;
}

const ProgramText& program_text() {
  static const ProgramText text{
      .summary = "Predicts how GPU attention kernels behave, before any GPU time is spent: which windows, "
                 "tiles and schedules are fast, how fast, and why.",
      .examples = {"natten-sim advise --preset hunyuan-video --device h200",
                   "natten-sim count --preset flux1-dev-4k -w 80 80 -s 16 16",
                   "natten-sim reuse -i 131072 -d 64 --device h200 --compare sawtooth",
                   "natten-sim schedule --q-tiles 8 --heads 2 --mask causal",
                   "natten-sim list presets"},
      .environment = {{"COLUMNS", "width of these pages"},
                      {"NO_COLOR", "no colours on a terminal; --color says otherwise"}},
      .exit_codes = "0 done, 1 internal error, 2 bad input or usage, 3 a comparison is out of tolerance or two "
                    "results differ, 4 the hardware or counter that was asked for is absent."};
  return text;
}

std::string command_help(const Command& command, HelpDetail detail, const HelpStyle& style) {
  const bool full = detail == HelpDetail::kFull;
  Page page(style);
  page.paragraphs("natten-sim " + command.name + " - " + command.summary);
  page.blank();
  page.paragraphs("Usage: " + usage(command));
  page.examples(command.examples, full ? command.examples.size() : 3);
  if (!command.positional.empty()) {
    page.heading("Argument");
    page.entry(in_capitals(command.positional), command.positional_help);
  }
  put_options(command, detail, page);
  if (full && !command.notes.empty()) {
    page.heading("Notes");
    page.paragraphs(command.notes);
  }
  if (full && !command.exit_codes.empty()) {
    page.heading("Exit codes");
    page.paragraphs(command.exit_codes);
  }
  return std::move(page).text();
}

std::string program_help(const std::vector<Command>& commands, HelpDetail detail, const HelpStyle& style) {
  const ProgramText& program = program_text();
  Page page(style);
  page.paragraphs(program.summary);
  page.blank();
  page.paragraphs("Usage: natten-sim SUBCOMMAND [OPTIONS]");
  page.examples(program.examples, program.examples.size());
  for (const CommandGroup& group : command_groups(commands)) {
    page.heading(group.title);
    for (const Command* command : group.commands) page.entry(command->name, command->summary);
  }
  page.heading("Help");
  page.entry("SUBCOMMAND -h", "Examples, and the options to begin with");
  page.entry("SUBCOMMAND --help", "All options of a subcommand");
  page.entry("docs/glossary.md", "What the words mean, such as Q tile, stride and makespan");
  page.entry("-V, --version", "Version, compiler and CUDA toolkit");
  if (detail == HelpDetail::kShort) {
    page.entry("--help", "This page, exit codes and environment too");
    return std::move(page).text();
  }
  page.heading("Environment");
  for (const auto& [variable, meaning] : program.environment) page.entry(variable, meaning);
  page.heading("Exit codes");
  page.paragraphs(program.exit_codes);
  return std::move(page).text();
}

}  // namespace natten_sim::cli
