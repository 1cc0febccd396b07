// Many answers reduced to a choice of columns, by sweep, by a batch and by serve.
#include <algorithm>
#include <sstream>

#include "catch.hpp"
#include "program.hpp"
#include "sanitized.hpp"

namespace columns_test {

using namespace natten_sim::test;

const char* const kProblem = "-i 30 48 80 -w 18 24 24 --q-tile 4 8 8 --kv-tile 2 8 8";

Json whole() { return Json::parse(run(std::string("count ") + kProblem + " --json").out); }

TEST_CASE("a batch gives the id and the columns that it was asked for, in that order") {
  const auto done = run(std::string("count ") + kProblem + " --batch - --columns visited_tiles,stride heads result_none",
                        "");
  CHECK(done.exit_code == 2);  // result_none
  const auto right = run(std::string("count ") + kProblem + " --batch - --columns stride,visited_tiles heads",
                         "{\"id\": 7}\n{\"stride\": [2, 8, 8]}\n");
  REQUIRE(right.exit_code == 0);
  const Json answer = whole();
  const std::string visited = answer["result"]["visited_tiles"].dump();
  const std::string heads = answer["input"]["heads"].dump();
  CHECK(right.out.substr(0, right.out.find('\n')) ==
        "{\"id\":7,\"stride\":[1,1,1],\"visited_tiles\":" + visited + ",\"heads\":" + heads + "}");
  const std::string second = right.out.substr(right.out.find('\n') + 1);
  CHECK(second.rfind("{\"stride\":[2,8,8],\"visited_tiles\":", 0) == 0);
}

TEST_CASE("a search's columns are those of its best candidate") {
  const std::string options = "search -i 64 64 --sparsity 0.5:0.6 --top 2";
  const auto done = run(options + " --batch - --columns window,sparsity", "{}\n");
  REQUIRE(done.exit_code == 0);
  const Json best = Json::parse(run(options + " --json").out)["result"]["candidates"][0];
  const Json row = Json::parse(done.out);
  CHECK(row.size() == 2);
  CHECK(row["window"] == best["window"]);
}

TEST_CASE("serve reduces one request's answer, and repeats its id") {
  const std::string input = R"("options": {"input": [64], "window": [16]})";
  const std::string lines = "{\"command\": \"count\", " + input + ", \"columns\": [\"visited_tiles\", \"window\"], \"id\": 3}\n" +
                            "{\"command\": \"count\", " + input + "}\n" +
                            "{\"command\": \"count\", " + input + ", \"columns\": [\"visited-tile\"]}\n" +
                            "{\"command\": \"count\", " + input + ", \"columns\": []}\n" +
                            "{\"command\": \"count\", " + input + ", \"columns\": [\"window\", \"window\"]}\n";
  std::istringstream answers(run("serve", lines).out);
  std::string line;
  std::getline(answers, line);
  const Json row = Json::parse(line);
  std::getline(answers, line);
  const Json answer = Json::parse(line);
  CHECK(row.size() == 3);
  CHECK(row["id"] == 3);
  CHECK(row["visited_tiles"] == answer["result"]["visited_tiles"]);
  CHECK(row["window"] == answer["input"]["window"]);
  for (const char* accepted : {"visited_tiles", "names", "each column once"}) {
    std::getline(answers, line);
    INFO(line);
    const Json error = Json::parse(line)["error"];
    CHECK(error["parameter"] == "columns");
    CHECK(line.find(accepted) != std::string::npos);
  }
}

TEST_CASE("a sweep's table has what was swept, errors, and the columns that were asked for") {
  const auto done = run(std::string("sweep count ") + kProblem +
                        " --over stride=1x1x1,64x8x8 --columns visited_tiles,window --quiet");
  REQUIRE(done.exit_code == 0);
  std::istringstream table(done.out);
  std::string line;
  std::getline(table, line);
  CHECK(line == "stride,error,visited_tiles,window");
  std::getline(table, line);
  CHECK(line == "1x1x1,," + whole()["result"]["visited_tiles"].dump() + ",18x24x24");
  std::getline(table, line);
  CHECK(line.rfind("64x8x8,", 0) == 0);
  CHECK(line.substr(line.size() - 2) == ",,");  // a refused point has no answer
  const auto typo = run(std::string("sweep count ") + kProblem + " --over stride=1x1x1 --columns visited_tile");
  CHECK(typo.exit_code == 2);
  CHECK(typo.err.find("visited_tiles") != std::string::npos);
}

TEST_CASE("lines of a sweep are whole answers, or what columns or compact leave of them") {
  const std::string sweep = "sweep count -w 16 --over input=15,64 --quiet --jsonl";
  const auto lines_of = [](const std::string& line) {
    std::istringstream text(run(line).out);
    std::vector<Json> lines;
    for (std::string each; std::getline(text, each);) lines.push_back(Json::parse(each));
    REQUIRE(lines.size() == 2);
    return lines;
  };
  const std::vector<Json> whole = lines_of(sweep), some = lines_of(sweep + " --columns visited_tiles window"),
                          compact = lines_of(sweep + " --compact");
  CHECK(whole[0].contains("error"));
  CHECK(some[0] == whole[0]);
  CHECK(compact[0] == whole[0]);
  const Json& answer = whole[1];
  CHECK(some[1] == Json{{"point", 1},
                        {"values", {{"input", "64"}}},
                        {"visited_tiles", answer["result"]["visited_tiles"]},
                        {"window", answer["input"]["window"]}});
  CHECK(compact[1] == Json{{"point", 1}, {"values", {{"input", "64"}}}, {"result", answer["result"]}});
  check_refused("sweep count -w 16 --over input=64 --compact", {"compact", "jsonl"});
  check_refused(sweep + " --columns visited_tile", {"columns", "visited_tiles"});
}

TEST_CASE("a sweep holds a line of text for each point, and not its answer") {
  if (kSanitized) return;
  // 10,000 answers take 100 MiB, their lines 4.
  const auto done =
      run("sweep count -w 16 --q-tile 8 --kv-tile 4 --over input=64:10063 -j 1 --quiet --max-memory 60");
  INFO(done.err);
  CHECK(done.exit_code == 0);
  CHECK(std::count(done.out.begin(), done.out.end(), '\n') == 10'001);
}

TEST_CASE("a compact answer of serve has its id and the members of its result, as a batch has") {
  const std::string input = R"("input": [64], "window": [16])";
  const std::string request = R"({"command": "count", "options": {)" + input + R"(}, "id": 3, "compact": )";
  const std::string line = run("count --batch -", "{" + input + ", \"id\": 3}\n").out;
  CHECK(run("serve", request + "true}\n").out == line);
  CHECK(run("serve", request + "true, \"columns\": [\"window\"]}\n").out == "{\"id\":3,\"window\":[16]}\n");
  CHECK(Json::parse(run("serve", request + "false}\n").out).contains("input"));
  CHECK(Json::parse(run("serve", request + "1}\n").out)["error"]["parameter"] == "compact");
}

}  // namespace columns_test
