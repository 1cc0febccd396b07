// A search for a schedule that is killed goes on from its checkpoint.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace checkpoint_test {

using namespace natten_sim::test;
namespace fs = std::filesystem;

const std::string kCosts = " --compute 5 --reduce 5 --handoff 9";
const std::string kTiles = "schedule --q-tiles 11 --kv-tiles 11 --heads 3 --mask causal" + kCosts;
const std::string kProblem = kTiles + " --workers 17";

double makespan_of(const std::string& line) { return result_of(line).at("makespan").get<double>(); }

/// Runs a search that would take hours until its file says that it has begun, and kills it.
void kill_a_search(const std::string& file) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string command = "exec '" + std::string(natten_sim::test::kProgram) + "' " + kProblem +
                                " --algorithm best --effort 1000000000 --checkpoint '" + file +
                                "' > /dev/null 2>&1";
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  const auto iterations = [&] {
    return fs::exists(file) ? Json::parse(read_text(file)).at("iterations").get<std::int64_t>() : 0;
  };
  for (int waited = 0; iterations() == 0 && waited < 1200; ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("a search that has ended goes on where it was, and ends no later than it had come") {
  const std::string file = scratch_folder() + "/search.json";
  const std::string line = kProblem + " --algorithm best --checkpoint " + file + " --effort ";
  const double reached = makespan_of(line + "3");
  CHECK(Json::parse(read_text(file)).at("iterations") == 3);
  CHECK(makespan_of(line + "8") <= reached);
  CHECK(Json::parse(read_text(file)).at("iterations") == 8);
}

TEST_CASE("a search that is killed goes on where it was, and ends no later than it had come",
          "[.nightly][clock]") {
  const std::string file = scratch_folder() + "/search.json", table = file + ".table";
  kill_a_search(file);
  const Json left = Json::parse(read_text(file));
  const auto iterations = left.at("iterations").get<std::int64_t>();
  REQUIRE(iterations > 0);
  write_text(table, left.at("best").dump());
  const double reached = makespan_of("schedule" + kCosts + " --table " + table);

  const std::string more = kProblem + " --algorithm best --checkpoint " + file + " --effort ";
  const double after = makespan_of(more + std::to_string(iterations + 5));
  CHECK(after <= reached);
  const Json done = Json::parse(read_text(file));
  CHECK(done.at("iterations") == iterations + 5);
  write_text(table, done.at("best").dump());
  CHECK(makespan_of("schedule" + kCosts + " --table " + table) == after);
  // Nothing is left to do; the file stays as it is.
  const std::string before = read_text(file);
  CHECK(makespan_of(more + std::to_string(iterations + 5)) == after);
  CHECK(read_text(file) == before);
}

TEST_CASE("a checkpoint of another problem, and one for an algorithm that does not search, is refused") {
  const std::string file = scratch_folder() + "/search.json";
  REQUIRE(run(kProblem + " --algorithm best --effort 2 --checkpoint " + file).exit_code == 0);
  const std::string before = read_text(file);
  check_refused(kTiles + " --workers 16 --algorithm best --checkpoint " + file,
                {"checkpoint", "another problem"});
  check_refused(kProblem + " --algorithm spt --checkpoint " + file, {"checkpoint", "spt"});
  check_refused(kProblem + " --checkpoint " + file, {"checkpoint", "--algorithm best"});
  check_refused(kProblem + " --algorithm best --emit-table " + file + " --checkpoint " + file,
                {"checkpoint"});
  check_refused(kProblem + " --algorithm best --checkpoint -", {"checkpoint", "'-'"});
  check_refused(kProblem + " --algorithm best --checkpoint /nowhere/at/all",
                {"checkpoint", "/nowhere/at/all"});
  CHECK(read_text(file) == before);
  write_text(file, "{}");
  check_refused(kProblem + " --algorithm best --checkpoint " + file, {file});
  CHECK(read_text(file) == "{}");
}

}  // namespace checkpoint_test
