#include "cli/completion.hpp"

#include <natten_sim/core/error.hpp>

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

std::string bash_script(const std::vector<Command>& commands) {
  std::string script =
      "# bash completion for natten-sim\n"
      "_natten_sim() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '" +
      command_names(commands) +
      " help --help --version' -- \"$word\")); return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands) {
    script += "    " + command.name + ")\n      case $previous in\n";
    std::string flags = "--help";
    for (const OptionSpec& option : command.options) {
      std::string pattern;
      for (const std::string& flag : split(option.flags, ',')) {
        pattern += (pattern.empty() ? "" : "|") + flag;
        flags += " " + flag;
      }
      if (const std::string names = proposals(option); !names.empty()) {
        script += "        " + pattern + ") COMPREPLY=($(compgen -W '" + names +
                  "' -- \"$word\")); return ;;\n";
      } else if (option.value_name == "FILE") {
        script += "        " + pattern + ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
      }
    }
    if (!command.positional_choices.empty()) flags += " " + command.positional_choices;
    script += "      esac\n      COMPREPLY=($(compgen -W '" + flags + "' -- \"$word\")) ;;\n";
  }
  return script + "  esac\n}\ncomplete -F _natten_sim natten-sim\n";
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

std::string zsh_script(const std::vector<Command>& commands) {
  std::string script = "#compdef natten-sim\n_natten_sim() {\n  local -a subcommands\n  subcommands=(\n";
  for (const Command& command : commands)
    script += "    '" + command.name + ":" + quoted(command.summary, ":") + "'\n";
  script +=
      "  )\n  if (( CURRENT == 2 )); then _describe subcommand subcommands; return; fi\n  case $words[2] "
      "in\n";
  for (const Command& command : commands) {
    script += "    " + command.name + ") _arguments \\\n";
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
              command.positional_choices + ")' ;;\n";
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
    if (!command.positional_choices.empty()) script += prefix + " -a '" + command.positional_choices + "'\n";
  }
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
