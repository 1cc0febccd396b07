#include "cli/completion.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "commands.hpp"

namespace natten_sim::cli {
namespace {

struct CompletionFlags {
  std::string shell;
  std::optional<std::string> output;
};

int run_completion(const CompletionFlags& flags) {
  const std::string script = completion_script(flags.shell, commands());
  OutputSink sink(flags.output, OutputSink::Mode::kBuffered);
  sink.write(script);
  sink.commit();
  return kExitDone;
}

}  // namespace

Command completion_command();
Command completion_command() {
  Options<CompletionFlags> rows;
  rows.positional("shell", &CompletionFlags::shell,
                  {.help = "bash, zsh or fish", .choices = "bash zsh fish"});
  rows.add("--output", &CompletionFlags::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  Command command{
      .name = "completion", .position = 100, .summary = "Print the completion script of a shell"};
  command.group = kHelpCommands;
  command.examples = {"source <(natten-sim completion bash)",
                      "natten-sim completion fish > ~/.config/fish/completions/natten-sim.fish"};
  command.exit_codes = "0 done, 1 internal error, 2 bad input.";
  bind(command, rows.essentials({"output"}), run_completion);
  return command;
}

}  // namespace natten_sim::cli
