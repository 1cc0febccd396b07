#include "cli/command.hpp"
#include "commands.hpp"

int main(int argc, char** argv) {
  return natten_sim::cli::run_program(argc, argv, natten_sim::cli::commands());
}
