#include "cli/completion.hpp"

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// What completion proposes for an option: its closed set, or names of the catalog.
std::string proposals(const OptionSpec& option) {
  std::string names = option.choices;
  if (!names.empty() || option.suggestions == nullptr) return names;
  for (const std::string& name : option.suggestions()) names += (names.empty() ? "" : " ") + name;
  return names;
}

std::string command_names(const std::vector<Command>& commands) {
  std::string names;
  for (const Command& command : commands) names += (names.empty() ? "" : " ") + command.name;
  return names;
}

/// What completion proposes for the positional argument.
std::string positional_proposals(const Command& command) {
  return command.positional_suggestions == nullptr ? command.positional_choices
                                                   : joined(command.positional_suggestions(), " ");
}

/// Behind a subcommand that passes on stands another one with its options.
std::string bash_script(const std::vector<Command>& commands) {
  std::string script =
      "# bash completion for natten-sim\n"
      "# _natten_sim_options SUBCOMMAND: proposes values of the option before the word, else adds to words\n"
      "_natten_sim_options() {\n"
      "  case $1 in\n";
  std::string passing_on;
  for (const Command& command : commands) {
    script += "    " + command.name + ")\n      case $previous in\n";
    if (command.passes_on) passing_on += (passing_on.empty() ? "" : "|") + command.name;
    std::string flags = " --help";
    for (const OptionSpec& option : command.options) {
      std::string pattern;
      for (const std::string& flag : split(option.flags, ',')) {
        pattern += (pattern.empty() ? "" : "|") + flag;
        flags += " " + flag;
      }
      if (const std::string names = proposals(option); !names.empty()) {
        script +=
            "        " + pattern + ") COMPREPLY=($(compgen -W '" + names + "' -- \"$word\")); return 0 ;;\n";
      } else if (!option.value_name.empty()) {  // a file, a folder, or nothing that is known
        const std::string kind = option.value_name == "FILE"  ? "-f"
                                 : option.value_name == "DIR" ? "-d"
                                                              : "-W ''";
        script += "        " + pattern + ") COMPREPLY=($(compgen " + kind + " -- \"$word\")); return 0 ;;\n";
      }
    }
    if (const std::string names = positional_proposals(command); !names.empty()) flags += " " + names;
    script += "      esac\n      words+='" + flags + "' ;;\n";
  }
  const std::string names = command_names(commands);
  return script +
         "  esac\n"
         "  return 1\n"
         "}\n"
         "_natten_sim() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    words='" +
         names +
         " help --help --version'\n"
         "  else\n"
         "    if _natten_sim_options \"${COMP_WORDS[1]}\"; then return; fi\n"
         "    case ${COMP_WORDS[1]} in\n"
         "      help) words='" +
         names + "' ;;\n" +
         (passing_on.empty()
              ? ""
              : "      " + passing_on +
                    ")\n"
                    "        if [ \"$COMP_CWORD\" -gt 2 ] && _natten_sim_options \"${COMP_WORDS[2]}\"; then "
                    "return; fi ;;\n") +
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -F _natten_sim natten-sim\n";
}

/// `text` inside single quotes of zsh's _arguments or of fish.
std::string quoted(const std::string& text, const std::string& specials) {
  std::string result;
  for (char c : text) {
    if (c == '\'') {
      result += "'\\''";
      continue;
    }
    if (specials.find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string long_flags(const Command& command) {
  std::string flags;
  for (const OptionSpec& option : command.options) flags += (flags.empty() ? "--" : " --") + option.name();
  return flags;
}

std::string zsh_script(const std::vector<Command>& commands) {
  std::string script = "#compdef natten-sim\n_natten_sim() {\n  local -a subcommands\n  subcommands=(\n";
  for (const Command& command : commands)
    script += "    '" + command.name + ":" + quoted(command.summary, ":") + "'\n";
  script +=
      "    'help:Options of a subcommand'\n"
      "  )\n  if (( CURRENT == 2 )); then _describe subcommand subcommands; return; fi\n  case $words[2] "
      "in\n"
      "    help) _describe subcommand subcommands ;;\n";
  for (const Command& command : commands) {
    script += "    " + command.name + ")";
    if (command.passes_on) {  // its own options, and those of the subcommand behind it
      script += "\n      if (( CURRENT > 3 )); then\n        compadd -- " + long_flags(command) +
                "\n        shift words; (( CURRENT-- )); _natten_sim; return\n      fi\n      ";
    }
    script += " _arguments \\\n";
    for (const OptionSpec& option : command.options) {
      const std::string names = proposals(option);
      for (const std::string& flag : split(option.flags, ',')) {
        script += "      '*" + flag + "[" + quoted(option.help, "[]:") + "]";
        if (!option.value_name.empty()) {
          script += ":" + quoted(option.value_name, ":") + ":" +
                    (option.value_name == "FILE" ? "_files"
                     : names.empty()             ? ""
                                                 : "(" + names + ")");
        }
        script += "' \\\n";
      }
    }
    script +=
        "      '2:" + (command.positional.empty() ? std::string("subcommand:") : command.positional + ":") +
        "' ";
    script += "'*:" + (command.positional.empty() ? std::string("value") : command.positional) + ":(" +
              positional_proposals(command) + ")' ;;\n";
  }
  return script + "  esac\n}\n_natten_sim \"$@\"\n";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string script = "# fish completion for natten-sim\ncomplete -c natten-sim -f\n";
  for (const Command& command : commands) {
    script += "complete -c natten-sim -n __fish_use_subcommand -a " + command.name + " -d '" +
              quoted(command.summary, "\\") + "'\n";
    const std::string prefix = "complete -c natten-sim -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const OptionSpec& option : command.options) {
      script += prefix;
      for (const std::string& flag : split(option.flags, ',')) {
        script += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
      }
      if (!option.value_name.empty()) script += " -r";
      if (const std::string names = proposals(option); !names.empty()) script += " -a '" + names + "'";
      if (option.value_name == "FILE") script += " -F";
      script += " -d '" + quoted(option.help, "\\") + "'\n";
    }
    if (const std::string names = positional_proposals(command); !names.empty())
      script += prefix + " -a '" + names + "'\n";
  }
  script += "complete -c natten-sim -n __fish_use_subcommand -a help -d 'Options of a subcommand'\n";
  script +=
      "complete -c natten-sim -n '__fish_seen_subcommand_from help' -a '" + command_names(commands) + "'\n";
  return script;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<Command>& commands) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  throw InvalidParameter("shell", shell.empty() ? "none" : "'" + shell + "'", "bash, zsh or fish");
}

}  // namespace natten_sim::cli
