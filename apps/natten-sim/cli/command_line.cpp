#include "cli/command_line.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include <CLI/CLI.hpp>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>

#include "cli/option_value.hpp"

namespace natten_sim::cli {
namespace {

bool flag_value(const std::string& name, const std::string& text) {
  return OptionValue<bool>::from_words(name, {text}, {});
}

bool says_boolean(const std::string& word) {
  return word == "true" || word == "false" || word == "1" || word == "0";
}

/// A flag with a boolean behind it for each axis, as other subcommands take it: `--causal 1 1` is `--causal`.
/// @throws InvalidParameter for axes that differ.
void join_booleans(const Command& command, std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!says_boolean(words[i + 1])) continue;
    const auto flag =
        std::find_if(command.options.begin(), command.options.end(), [&](const OptionSpec& spec) {
          return spec.value_name.empty() && (spec.has_flag(words[i]) || spec.reads(words[i]));
        });
    if (flag == command.options.end()) continue;
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const auto end = std::find_if_not(first, words.end(), says_boolean);
    const auto is_on = [](const std::string& word) { return word == "true" || word == "1"; };
    if (std::any_of(first, end, [&](const std::string& word) { return is_on(word) != is_on(*first); }))
      throw InvalidParameter(words[i], "'" + joined({first, end}, " ") + "'",
                             "the same for every axis in '" + command.name + "'");
    words[i] = "--" + flag->name() + (is_on(*first) ? "" : "=false");
    words.erase(first, end);
  }
}

/// `--kernel_size=3` as `--kernel-size=3`, where that is an option: Python has no dashes in names.
void read_underscores(const Command& command, std::string& word) {
  const std::size_t equals = std::min(word.find('='), word.size());
  if (!word.starts_with("--") || word.find('_') >= equals) return;
  const std::string flag = flag_of_key(word.substr(2, equals - 2));
  if (std::any_of(command.options.begin(), command.options.end(),
                  [&](const OptionSpec& spec) { return spec.spells(flag); }))
    word.replace(0, equals, flag);
}

}  // namespace

std::vector<std::string> respelled(const Command& command, std::vector<std::string> words,
                                   std::vector<std::string>& notes) {
  std::erase_if(words, [&](const std::string& word) {
    return std::find(command.without_effect.begin(), command.without_effect.end(), word) != command.without_effect.end();
  });
  for (std::string& word : words) read_underscores(command, word);
  join_booleans(command, words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) continue;
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    const std::string flag = words[i].substr(0, equals);
    const std::string value = equals < words[i].size()     ? words[i].substr(equals + 1)
                              : i + 1 < words.size() ? words[i + 1]
                                                     : std::string();
    for (const OptionSpec& spec : command.options) {
      const auto other = std::find_if(spec.spellings.begin(), spec.spellings.end(), [&](const auto& spelling) {
        return spelling.flag == flag && (spelling.with == nullptr || spelling.with(value));
      });
      if (other == spec.spellings.end()) continue;
      if (other->old) notes.push_back(flag + " is an old spelling here: --" + spec.name() + " is the new one");
      const bool bare = equals == words[i].size() && (i + 1 == words.size() || value.starts_with('-'));
      words[i].replace(0, equals, "--" + spec.name());
      if (bare && other->bare != nullptr) words[i] += std::string("=") + other->bare;
      break;
    }
  }
  return words;
}

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
    option->expected(1, spec.max_values == 1 ? 1 : kMostWords);
    option->allow_extra_args();
    if (spec.max_values == 1) option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    declared.push_back(option);
  }
  if (command.passes_on) {
    app.allow_extras();
  } else if (!command.positional.empty()) {
    CLI::Option* option = app.add_option(command.positional, CLI::callback_t(), command.positional_help);
    option->type_name("TEXT")->expected(1, command.max_positional)->allow_extra_args();
    declared.push_back(option);
  }
  return declared;
}

Sources sources_of(const Command& command, const Declared& declared, const std::vector<std::string>& rest) {
  Sources sources(command);
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const std::vector<std::string>& words = declared[i]->results();
    if (words.empty()) continue;
    const bool flag = i < command.options.size() && command.options[i].value_name.empty();
    if (!flag) {
      sources[i].words = words;
    } else if (flag_value(sources.name(i), words.front())) {
      sources[i].words.emplace();
    } else {
      sources[i].off = true;
    }
  }
  if (command.passes_on && !rest.empty()) sources[declared.size()].words = rest;
  return sources;
}

void refuse_repeats(const Command& command, const std::vector<std::string>& words) {
  std::map<std::string, int> seen;
  for (const std::string& word : words) {
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

namespace {

/// What people call options that have another name here.
constexpr std::pair<const char*, const char*> kOtherWords[] = {{"--gpu", "--device"},
                                                               {"--card", "--device"},
                                                               {"--model", "--preset"},
                                                               {"--tokens", "--seqlen"},
                                                               {"--length", "--seqlen"},
                                                               {"--tokens", "--input"},
                                                               {"--length", "--input"},
                                                               {"--batch", "--batch-size"},
                                                               {"--block-m", "--q-tile"},
                                                               {"--block-n", "--kv-tile"},
                                                               {"--window-size", "--window"},
                                                               {"--plot", "--picture"},
                                                               {"--out", "--output"},
                                                               {"--speedup", "--min-speedup"},
                                                               {"--resolution", "--input"},
                                                               {"--shape", "--input"},
                                                               {"--size", "--input"},
                                                               {"--sizes", "--input"},
                                                               {"--best", "--algorithm"},
                                                               {"--gantt", "--picture"},
                                                               {"--draw", "--picture"},
                                                               {"--png", "--picture"},
                                                               {"--pdf", "--picture"},
                                                               {"--backward", "--backprop"},
                                                               {"-o", "--output"},
                                                               {"-q", "--quiet"}};

/// What people type in the place of a subcommand.
constexpr std::pair<const char*, const char*> kOtherCommands[] = {
    {"glossary", "help"},         {"tutorial", "help"},
    {"examples", "help"},         {"docs", "help"},
    {"presets", "list presets"},  {"models", "list presets"},
    {"devices", "list devices"},  {"gpus", "list devices"},
    {"kernels", "list kernels"},  {"backends", "list backends"},
    {"tune", "advise"},           {"recommend", "advise"},
    {"optimize", "search"},       {"time", "count"},
    {"predict", "count"},         {"cache", "reuse"},
    {"traffic", "reuse"},         {"profile", "explain"},
    {"benchmark", "validate"},    {"bench", "validate"},
    {"measure", "validate"},      {"compare", "diff"},
    {"paper", "reproduce"},       {"papers", "reproduce"},
    {"figures", "reproduce"},     {"batch", "serve"},
    {"merge", "sweep --journal"}, {"version", "--version"}};

/// The one of `flags` that `typed` means; empty: none.
std::string meant_option(const std::string& typed, const std::vector<std::string>& flags) {
  for (const auto& [word, flag] : kOtherWords) {
    if (typed == word && std::find(flags.begin(), flags.end(), flag) != flags.end()) return flag;
  }
  return "";
}

bool is_letter_flag(const std::string& flag) { return flag.size() == 2 && flag[0] == '-' && flag[1] != '-'; }

/// The closest name. A letter is no slip of another one, except in another case, nor of a word.
std::string closest_flag(const std::string& typed, const std::vector<std::string>& names) {
  const auto lower = [](char letter) { return std::tolower(static_cast<unsigned char>(letter)); };
  std::vector<std::string> words;
  for (const std::string& name : names) {
    if (!is_letter_flag(name)) words.push_back(name);
    if (is_letter_flag(name) && is_letter_flag(typed) && lower(name[1]) == lower(typed[1])) return name;
  }
  return is_letter_flag(typed) ? "" : closest_name(typed, words);
}

/// The subcommand that `typed` means; empty: none.
std::string meant_command(const std::string& typed) {
  for (const auto& [word, meant] : kOtherCommands) {
    if (typed == word) return meant;
  }
  return "";
}

/// The subcommands that have this option; empty: none.
std::string owners_of(const std::string& flag, const std::vector<Command>& commands) {
  std::vector<std::string> owners;
  for (const Command& command : commands) {
    if (std::any_of(command.options.begin(), command.options.end(),
                    [&](const OptionSpec& option) { return option.has_flag(flag); }))
      owners.push_back(command.name);
  }
  return joined(owners);
}

/// What CLI11 says of too few or too many values, in a sentence.
std::string plain_message(const std::string& message, const Command* command) {
  const std::size_t colon = message.find(": ");
  if (command == nullptr || colon == std::string::npos) return message;
  const std::string flag = message.substr(0, colon), rest = message.substr(colon + 2);
  if (flag == command->positional && rest.starts_with("At Most 1 required")) {
    std::string choices = command->positional_choices;
    std::replace(choices.begin(), choices.end(), ' ', '|');
    return flag + ": takes one value" + (choices.empty() ? "" : ", " + choices);
  }
  const auto option = std::find_if(command->options.begin(), command->options.end(),
                                   [&](const OptionSpec& spec) { return "--" + spec.name() == flag; });
  if (option == command->options.end()) return message;
  if (rest.ends_with(" missing")) return flag + ": its value is missing; required: " + option->value_name;
  if (rest.starts_with("At Most 1 required")) return flag + ": takes one value, " + option->value_name;
  return message;
}

}  // namespace

UsageError usage_error(const std::string& message, const std::vector<Command>& commands,
                       const Command* chosen, const std::vector<std::string>& leftover) {
  const std::string help =
      "see natten-sim " + (chosen != nullptr ? chosen->name + " " : std::string()) + "--help";
  if (leftover.empty()) return {plain_message(message, chosen), help};
  const std::string& word = leftover.front();
  std::vector<std::string> names;
  std::string sentence = word + ": unexpected argument";
  if (word.starts_with("-") && chosen != nullptr) {
    for (const OptionSpec& spec : chosen->options) {
      for (const std::string& flag : CLI::detail::split(spec.flags, ',')) names.push_back(flag);
    }
    sentence = word + ": unknown option of '" + chosen->name + "'";
  } else if (chosen == nullptr) {
    for (const Command& command : commands) names.push_back(command.name);
    sentence = word + ": unknown subcommand";
  }
  const std::string typed = word.substr(0, word.find('='));
  std::string closest = chosen == nullptr ? meant_command(typed) : meant_option(typed, names);
  if (closest.empty() && chosen == nullptr) {
    const std::string owners = owners_of("--" + typed, commands);
    if (!owners.empty()) return {sentence, "'--" + typed + "' is an option of " + owners};
  }
  if (closest.empty()) closest = closest_flag(typed, names);
  return {sentence, closest.empty() ? help : "did you mean '" + closest + "'?"};
}

}  // namespace natten_sim::cli
