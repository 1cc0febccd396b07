// A subcommand that the program does not have. This file is all there is to it.
#include "cli/options.hpp"
#include "cli/reply.hpp"
#include "commands.hpp"

namespace {

using namespace natten_sim::cli;

struct GreetFlags {
  std::string name = "you";
  OutputFlags output;
};

int run_greet(const GreetFlags& flags, Reply& reply) {
  put_answer(flags.output, reply, "hello, " + flags.name + "\n");
  return kExitDone;
}

Command greet_command() {
  Options<GreetFlags> rows;
  rows.add("--name", &GreetFlags::name, {.value = "NAME", .help = "Whom to greet [default]"});
  rows.include(output_rows(), &GreetFlags::output);
  Command command{.name = "greet", .position = 65, .summary = "Greet someone"};
  bind(command, rows, run_greet);
  return command;
}

[[maybe_unused]] const bool kAdded = add_command(greet_command);

}  // namespace
