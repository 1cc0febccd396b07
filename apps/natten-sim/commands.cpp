#include "commands.hpp"

#include <algorithm>

namespace natten_sim::cli {

std::vector<Command> built_in_commands();  // written by CMake: one entry a file of commands/

namespace {

/// Made when all algorithms and kernels are registered, whose names help prints.
std::vector<Command (*)()>& added() {
  static std::vector<Command (*)()> makers;
  return makers;
}

std::vector<Command> all_commands() {
  std::vector<Command> all = built_in_commands();
  for (Command (*make)() : added()) all.push_back(make());
  std::sort(all.begin(), all.end(), [](const Command& a, const Command& b) {
    return a.position != b.position ? a.position < b.position : a.name < b.name;
  });
  return all;
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = all_commands();
  return all;
}

bool add_command(Command (*make)()) {
  added().push_back(make);
  return true;
}

}  // namespace natten_sim::cli
