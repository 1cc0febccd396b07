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

TEST_CASE("an option in one description is in help, completion, files of options, errors and hints") {
  CHECK(run("greet --help").out.find("--loud-times N") != std::string::npos);
  CHECK(run("greet --help").out.find("Times to greet [1]; 1..3") != std::string::npos);
  CHECK(run("completion fish").out.find("__fish_seen_subcommand_from greet' -l loud-times") != std::string::npos);
  CHECK(run("greet --loud-times 2").out == "hello, you\nhello, you\n");
  const std::string file = natten_sim::test::scratch_folder() + "/greet.toml";
  natten_sim::test::write_text(file, "[greet]\nloud_times = 3\n");
  CHECK(run("greet --config '" + file + "'").out == "hello, you\nhello, you\nhello, you\n");
  const auto refused = run("greet --loud-times 4");
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("accepted: integers in 1..3") != std::string::npos);
  CHECK(run("greet --loud-time 2").err.find("did you mean '--loud-times'?") != std::string::npos);
}

}  // namespace greet_test
