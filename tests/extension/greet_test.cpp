// A subcommand that one file adds (greet_command.cpp) is in help and completion, at its place, and runs.
#include "catch.hpp"
#include "golden/program.hpp"

namespace greet_test {

using natten_sim::test::run;

TEST_CASE("a subcommand in one file has help, completion, options and output like the others") {
  const std::string help = run("--help").out;
  CHECK(help.find("\n  msda ") < help.find("\n  greet "));
  CHECK(help.find("\n  greet ") < help.find("\n  list "));
  CHECK(run("greet --help").out.find("Whom to greet") != std::string::npos);
  CHECK(run("completion fish").out.find("__fish_seen_subcommand_from greet' -l name") != std::string::npos);
  CHECK(run("greet --name Ada").out == "hello, Ada\n");
  const auto served = run("serve", "{\"command\": \"greet\"}\n{\"command\": \"list\"}\n");  // it answers in text
  CHECK(served.out.starts_with("{\"error\":"));
  CHECK(served.out.find("\"result\":") != std::string::npos);
  const auto refused = run("greet --nam Ada");
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("did you mean '--name'?") != std::string::npos);
}

}  // namespace greet_test
