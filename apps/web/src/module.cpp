#include <algorithm>
#include <string>
#include <vector>

#include "cli/server.hpp"

/// The module that the pages load: requests in, answers out, as `natten-sim serve` reads and writes them.

namespace natten_sim::cli {

std::vector<Command> built_in_commands();  // written by CMake
std::vector<Command> built_in_lessons();

namespace {

std::vector<Command> commands_of_module() {
  std::vector<Command> all = built_in_commands();
  for (Command& lesson : built_in_lessons()) all.push_back(std::move(lesson));
  return all;
}

}  // namespace
}  // namespace natten_sim::cli

/// @return the answer, valid until the next call
extern "C" const char* natten_sim_answer(const char* request) {
  using namespace natten_sim::cli;
  static const std::vector<Command> commands = commands_of_module();
  static Server server(commands);
  static std::string answer;
  answer = server.respond(request);
  return answer.c_str();
}
