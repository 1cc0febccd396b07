#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "commands.hpp"

int main(int argc, char** argv) {
  using namespace natten_sim::cli;
  return run_program(argc, argv,
                     {count_command(), search_command(), schedule_command(), reuse_command(),
                      atomics_command(), msda_command(), list_command(), calibrate_command(),
                      reproduce_command(), validate_command(), completion_command()});
}
