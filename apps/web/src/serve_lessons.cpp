#include <iostream>
#include <string>

#include "cli/server.hpp"
#include "commands.hpp"

namespace natten_sim::cli {

std::vector<Command> built_in_lessons();  // written by CMake

}  // namespace natten_sim::cli

/// Answers the requests on standard input as the module in the browser does, for tests.
int main() {
  using namespace natten_sim::cli;
  std::vector<Command> commands = natten_sim::cli::commands();
  for (Command& lesson : built_in_lessons()) commands.push_back(std::move(lesson));
  Server server(commands);
  for (std::string line; std::getline(std::cin, line);) std::cout << server.respond(line);
}
