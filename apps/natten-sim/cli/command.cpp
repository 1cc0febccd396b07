#include "cli/command.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>

#include <CLI/CLI.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/version.hpp>
#include <natten_sim/io/files.hpp>

#include "cli/command_line.hpp"
#include "cli/config.hpp"
#include "cli/help.hpp"
#include "cli/limits.hpp"
#include "cli/output.hpp"
#include "cli/sources.hpp"
#include "cli/terminal.hpp"

namespace natten_sim::cli {
namespace {

void print_error(const std::string& message, const std::string& hint) {
  print_remark(message, {.emphasis = Emphasis::kError, .label = "error: "});
  if (!hint.empty()) print_remark(hint, {.emphasis = Emphasis::kHint, .label = "hint: "});
}

std::string did_you_mean(const std::string& name) {
  return name.empty() ? "" : "did you mean '" + name + "'?";
}

/// Only the options of a subcommand that is named can matter.
bool is_named(const Command& command, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), command.name) != words.end();
}

/// What was typed behind the program's name: nothing and `help` ask for help, `help SUBCOMMAND` for its own.
std::vector<std::string> typed_words(int argc, char** argv, const std::vector<Command>& commands) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words == std::vector<std::string>{"help"}) return {words.empty() ? "-h" : "--help"};
  if (words.front() != "help") return words;
  const bool known = std::any_of(commands.begin(), commands.end(),
                                 [&](const Command& command) { return command.name == words[1]; });
  return known ? std::vector<std::string>{words[1], "--help"} : std::vector<std::string>{words[1]};
}

/// The words with other spellings replaced; notes on old ones go to stderr.
std::vector<std::string> respelled_line(std::vector<std::string> words, const std::vector<Command>& commands) {
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& each) { return each.name == words.front(); });
  if (command == commands.end()) return words;
  std::vector<std::string> notes;
  words = respelled(*command, std::move(words), notes);
  if (std::find(words.begin(), words.end(), "--quiet") == words.end()) {
    for (const std::string& note : notes) print_remark(note);
  }
  return words;
}

/// Whether -h or --help is among the words; then the page is printed, whatever else they ask.
bool print_help(const std::vector<std::string>& words, const std::vector<Command>& commands) {
  const auto is_help = [](const std::string& word) { return word == "-h" || word == "--help"; };
  const auto help = std::find_if(words.begin(), words.end(), is_help);
  if (help == words.end()) return false;
  const HelpStyle style{.width = page_width(), .palette = palette_of(stdout, color_in(words))};
  const HelpDetail detail = std::find(words.begin(), words.end(), "--help") != words.end() ? HelpDetail::kFull
                                                                                           : HelpDetail::kShort;
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const Command& each) { return each.name == words.front(); });
  // Behind a word that is no subcommand it is an error like any other.
  if (command == commands.end() && words.front()[0] != '-') return false;
  OutputSink sink(std::nullopt, OutputSink::Mode::kBuffered);
  sink.write(command == commands.end() ? program_help(commands, detail, style)
                                       : command_help(*command, detail, style));
  sink.commit();
  return true;
}

int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const UnknownName& error) {
    print_error(error.sentence("--"), did_you_mean(error.hint()));
    return kExitBadInput;
  } catch (const UsageError& error) {
    print_error(error.what(), error.hint());
    return kExitBadInput;
  } catch (const HardwareAbsent& error) {
    print_error(error.what(), "");
    return kExitHardwareAbsent;
  } catch (const Error& error) {
    print_error(error.sentence("--"),
                error.hint().empty() ? "" : "the nearest valid value is " + error.hint());
    return kExitBadInput;
  } catch (const std::bad_alloc&) {
    print_error("out of memory", "narrow the problem");
    return kExitInternalError;
  } catch (const std::exception& error) {
    print_error(error.what(), "");
    return kExitInternalError;
  }
}

extern "C" void leave_on_signal(int signal) {
  remove_temporary_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// A signal that ends the program leaves no temporary file behind. One that is ignored (nohup) stays ignored.
void handle_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    if (std::signal(signal, leave_on_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow further is a write that fails
}

}  // namespace

int run_program(int argc, char** argv, const std::vector<Command>& commands) {
  handle_signals();
  return guarded([&]() -> int {
    CLI::App app{"", "natten-sim"};
    const std::vector<std::string> typed = typed_words(argc, argv, commands);
    set_remark_color(color_in(typed));
    if (print_help(typed, commands)) return kExitDone;
    const std::vector<std::string> words = respelled_line(typed, commands);
    app.set_version_flag("-V,--version",
                         "natten-sim " + version() + "\ncompiler " + compiler() + "\nCUDA " + cuda_toolkit());
    app.set_help_flag();  // help.hpp
    app.require_subcommand(1);
    std::vector<CLI::App*> apps;
    std::vector<Declared> declared;
    for (const Command& command : commands) {
      apps.push_back(app.add_subcommand(command.name, command.summary));
      declared.push_back(is_named(command, words) ? declare(*apps.back(), command) : Declared{});
    }
    const auto chosen = [&]() -> std::size_t {
      return static_cast<std::size_t>(
          std::find_if(apps.begin(), apps.end(), [](CLI::App* sub) { return sub->parsed(); }) - apps.begin());
    };
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::Success& success) {  // --version
      std::ostringstream text;
      app.exit(success, text, text);
      OutputSink sink(std::nullopt, OutputSink::Mode::kBuffered);
      sink.write(text.str());
      sink.commit();
      return kExitDone;
    } catch (const CLI::ParseError& error) {
      const std::size_t index = chosen();
      const Command* command = index < commands.size() ? &commands[index] : nullptr;
      std::vector<std::string> leftover = app.remaining(true);
      if (command == nullptr && leftover.empty() && words.front()[0] != '-') leftover = {words.front()};
      throw usage_error(error.what(), commands, command, leftover);
    }
    const std::size_t index = chosen();
    const Command& command = commands[index];
    const std::vector<std::string> rest = apps[index]->remaining();
    refuse_repeats(command, std::vector<std::string>(words.begin() + 1, words.end()));
    Sources sources = sources_of(command, declared[index], rest);
    merge_config(commands, sources);
    refuse_two_outputs(sources);
    check_company(sources);
    return answer(sources);
  });
}

}  // namespace natten_sim::cli
