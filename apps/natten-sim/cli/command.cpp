#include "cli/command.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <new>

#include <CLI/CLI.hpp>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/version.hpp>
#include <natten_sim/io/files.hpp>

#include "cli/config.hpp"
#include "cli/output.hpp"
#include "cli/sources.hpp"

namespace natten_sim::cli {
namespace {

void print_error(const std::string& message, const std::string& hint) {
  print_remark("error: " + message);
  if (!hint.empty()) print_remark("hint: " + hint);
}

std::string did_you_mean(const std::string& name) {
  return name.empty() ? "" : "did you mean '" + name + "'?";
}

/// CLI11's options of a subcommand, in the order of Sources. They keep the words.
using Declared = std::vector<const CLI::Option*>;

Declared declare(CLI::App& app, const Command& command) {
  Declared declared;
  for (const OptionSpec& spec : command.options) {
    if (spec.value_name.empty()) {
      declared.push_back(app.add_flag(spec.flags, spec.help));
      continue;
    }
    CLI::Option* option = app.add_option(spec.flags, CLI::callback_t(), spec.help);
    option->type_name(spec.value_name);
    // More values than axes are counted by our own reader, which says how many there may be.
    option->expected(1, spec.max_values == 1 ? 1 : 64);
    option->allow_extra_args();
    if (spec.max_values == 1) option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    declared.push_back(option);
  }
  if (!command.positional.empty()) {
    CLI::Option* option = app.add_option(command.positional, CLI::callback_t(), command.positional_help);
    option->type_name("TEXT")->expected(1, command.max_positional)->allow_extra_args();
    declared.push_back(option);
  }
  app.footer(command.footer);
  return declared;
}

bool flag_value(const std::string& name, const std::string& text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  throw InvalidParameter(name, "'" + text + "'", "true, false, 1 or 0; without a value, true");
}

Sources command_line(const Command& command, const Declared& declared) {
  static const std::vector<std::string> kOn;
  Sources sources(command);
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const std::vector<std::string>& words = declared[i]->results();
    if (words.empty()) continue;
    const bool flag = i < command.options.size() && command.options[i].value_name.empty();
    if (!flag) {
      sources[i].words = &words;
    } else if (flag_value(sources.name(i), words.front())) {
      sources[i].words = &kOn;
    } else {
      sources[i].off = true;
    }
  }
  return sources;
}

/// Each value goes from where it stands to the row that reads it.
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
  return form->answer(given);
}

/// CLI11 would join the values of a repeated flag, and `-w 3 -w 4` would become a window of two axes.
void refuse_repeats(int argc, char** argv, const Command& command) {
  std::map<std::string, int> seen;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") throw InvalidParameter("argument", "'--'", "options only: nothing follows them");
    const std::string flag = word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
    const auto spec = std::find_if(command.options.begin(), command.options.end(),
                                   [&](const OptionSpec& option) { return option.has_flag(flag); });
    if (spec == command.options.end()) continue;
    if (++seen[spec->name()] == 2) throw InvalidParameter(spec->name(), "given twice", "each option once");
    // As it stands: CLI11 takes '=' and '={}' for no value.
    if (spec->value_name.empty() && word.starts_with(flag + "="))
      (void)flag_value(spec->name(), word.substr(flag.size() + 1));
  }
}

/// Only the options of a subcommand that is named can matter.
bool is_named(const Command& command, int argc, char** argv) {
  return std::any_of(argv, argv + argc, [&](const char* word) { return word == command.name; });
}

/// Turns CLI11's complaint into ours, with the closest flag or subcommand as a hint.
int report_usage(const CLI::ParseError& error, const std::vector<Command>& commands, const Command* chosen,
                 const std::vector<std::string>& leftover) {
  std::string hint;
  std::string message = error.what();
  if (!leftover.empty()) {
    const std::string& word = leftover.front();
    std::vector<std::string> names;
    if (word.starts_with("-") && chosen != nullptr) {
      for (const OptionSpec& spec : chosen->options) {
        for (const std::string& flag : CLI::detail::split(spec.flags, ',')) names.push_back(flag);
      }
      message = word + ": unknown option of '" + chosen->name + "'";
    } else if (chosen == nullptr) {
      for (const Command& command : commands) names.push_back(command.name);
      message = word + ": unknown subcommand";
    } else {
      message = word + ": unexpected argument";
    }
    const std::string closest = closest_name(word.substr(0, word.find('=')), names);
    hint = did_you_mean(closest);
  }
  if (hint.empty())
    hint = "see natten-sim " + (chosen != nullptr ? chosen->name + " " : std::string()) + "--help";
  print_error(message, hint);
  return kExitBadInput;
}

int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const UnknownName& error) {
    print_error(error.what(), did_you_mean(error.hint()));
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

std::string OptionSpec::name() const {
  const std::size_t begin = flags.find("--") + 2;
  return flags.substr(begin, flags.find(',', begin) - begin);
}

bool OptionSpec::has_flag(const std::string& flag) const {
  const std::vector<std::string> all = CLI::detail::split(flags, ',');
  return std::find(all.begin(), all.end(), flag) != all.end();
}

int run_program(int argc, char** argv, const std::vector<Command>& commands) {
  handle_signals();
  return guarded([&]() -> int {
    CLI::App app{
        "Predicts how GPU attention kernels behave: exact tile counts and parameter search for\n"
        "(generalized) neighborhood attention.",
        "natten-sim"};
    app.set_version_flag("--version",
                         "natten-sim " + version() + "\ncompiler " + compiler() + "\nCUDA " + cuda_toolkit());
    app.require_subcommand(1);
    app.footer(
        "Exit codes: 0 done, 1 internal error, 2 bad input or usage, 3 a comparison is out of tolerance,\n"
        "4 the hardware or counter that was asked for is absent.\n"
        "natten-sim SUBCOMMAND --help lists the options of a subcommand.");
    std::vector<CLI::App*> apps;
    std::vector<Declared> declared;
    for (const Command& command : commands) {
      apps.push_back(app.add_subcommand(command.name, command.summary));
      declared.push_back(is_named(command, argc, argv) ? declare(*apps.back(), command) : Declared{});
    }
    const auto chosen = [&]() -> std::size_t {
      return static_cast<std::size_t>(
          std::find_if(apps.begin(), apps.end(), [](CLI::App* sub) { return sub->parsed(); }) - apps.begin());
    };
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
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
      if (command == nullptr && argc > 1 && leftover.empty() && argv[1][0] != '-') leftover = {argv[1]};
      return report_usage(error, commands, command, leftover);
    }
    const std::size_t index = chosen();
    const Command& command = commands[index];
    refuse_repeats(argc, argv, command);
    Sources sources = command_line(command, declared[index]);
    merge_config(command, commands, sources);
    check_company(command, sources);
    return answer(command, sources);
  });
}

}  // namespace natten_sim::cli
