// A subcommand that the program does not have, and its question, which is described once. This file is all there
// is to it.
#include <cstdint>

#include "cli/described.hpp"
#include "cli/reply.hpp"
#include "commands.hpp"

namespace {

using namespace natten_sim::cli;

struct Greeting {
  std::string name = "you";
  std::int64_t loud_times = 1;
};

template <typename Members>
void describe(Members& members, const Greeting&) {
  members.group("Whom");
  members.add("name", &Greeting::name, {.help = "Whom to greet [default]"});
  members.add("loud_times", &Greeting::loud_times, {.help = "Times to greet [default]", .range = {1, 3}});
}

struct GreetFlags {
  Greeting question;
  OutputFlags output;
};

int run_greet(const GreetFlags& flags, Reply& reply) {
  std::string text;
  for (std::int64_t i = 0; i < flags.question.loud_times; ++i) text += "hello, " + flags.question.name + "\n";
  put_answer(flags.output, reply, text);
  return kExitDone;
}

Command greet_command() {
  Options<GreetFlags> rows;
  rows.include(options_of<Greeting>(), &GreetFlags::question);
  rows.include(output_rows(), &GreetFlags::output);
  Command command{.name = "greet", .position = 65, .summary = "Greet someone"};
  bind(command, rows, run_greet);
  return command;
}

[[maybe_unused]] const bool kAdded = add_command(greet_command);

}  // namespace
