#include <algorithm>
#include <sstream>

#include "catch.hpp"
#include "program.hpp"

namespace batch_test {

using namespace natten_sim::test;

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> objects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) objects.push_back(Json::parse(line));
  return objects;
}

TEST_CASE("each line is answered by the result object of the same problem, in order") {
  const auto done =
      run("count --batch -",
          "{\"input\": [64], \"window\": [16], \"stride\": [8], \"q_tile\": [8], \"kv_tile\": [4]}\n"
          "{\"input\": [8, 8], \"window\": [4, 4], \"dilation\": [2, 1], \"causal\": [true, false], "
          "\"q_tile\": [2, 2], \"kv_tile\": [2, 2], \"kv_tiling\": \"dynamic\"}\r\n"
          "{\"input\": [8, 8], \"window\": [4, 4], \"q_tile\": [8], \"kv_tile\": [8], \"tiling\": "
          "\"single\", \"add_kv\": 5}");
  CHECK(done.exit_code == 0);
  const std::vector<Json> results = lines_of(done.out);
  REQUIRE(results.size() == 3);
  CHECK(results[0] == result_of("count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4"));
  CHECK(
      results[1] ==
      result_of(
          "count -i 8 8 -w 4 4 --dilation 2 1 -c true false --q-tile 2 2 --kv-tile 2 2 --kv-tiling dynamic"));
  CHECK(results[2] == result_of("count -i 8 8 -w 4 4 --q-tile 8 --kv-tile 8 --tiling single --add-kv 5"));
}

TEST_CASE("missing keys take the command line's values") {
  const auto done = run("count -i 64 -w 16 --q-tile 8 --kv-tile 4 -s 8 --batch -",
                        "{}\n{\"stride\": [1]}\n{\"kv_tile\": [8]}\n");
  const std::vector<Json> results = lines_of(done.out);
  REQUIRE(results.size() == 3);
  CHECK(results[0]["visited_tiles"] == 32);
  CHECK(results[1]["visited_tiles"] == 44);
  CHECK(results[2] == result_of("count -i 64 -w 16 --q-tile 8 --kv-tile 8 -s 8"));
}

TEST_CASE("every option of count may stand in a line") {
  const auto done =
      run("count --batch -",
          R"({"preset": "flux1-dev-4k", "window": [80, 80], "backend": "hopper-fna", "backprop": true})"
          "\n"
          R"({"input": [64, 64], "window": [8, 8], "device": "h200", "head_dim": 128, "heads": 24, )"
          R"("batch_size": 2, "dtype": "bf16", "attention_share": 0.5, "dense_steps": "1/4", "add_kv": 9})"
          "\n");
  CHECK(done.exit_code == 0);
  const std::vector<Json> results = lines_of(done.out);
  REQUIRE(results.size() == 2);
  CHECK(results[0] == result_of("count --preset flux1-dev-4k -w 80 80 --backend hopper-fna --backprop"));
  CHECK(results[1] == result_of("count -i 64 64 -w 8 8 --device h200 -d 128 -n 24 -b 2 --dtype bf16 "
                                "--attention-share 0.5 --dense-steps 1/4 --add-kv 9"));
}

TEST_CASE("an id is repeated, whatever it is, and a bad line keeps it") {
  const auto done =
      run("count -i 64 -w 16 --q-tile 8 --kv-tile 4 --batch -",
          "{\"id\": 7}\n{\"id\": \"a \\\"b\\\"\"}\n{\"id\": [1, {\"x\": 2.5}], \"stride\": [8]}\n"
          "{\"stride\": [17], \"id\": 9}\n{\"id\": null}\n");
  const std::vector<Json> results = lines_of(done.out);
  REQUIRE(results.size() == 5);
  CHECK(results[0]["id"] == 7);
  CHECK(results[1]["id"] == "a \"b\"");
  CHECK(results[2]["id"] == Json::parse(R"([1, {"x": 2.5}])"));
  CHECK(results[2]["visited_tiles"] == 32);
  CHECK(results[3].contains("error"));
  CHECK(results[4]["id"].is_null());
}

TEST_CASE("an answer has its input on wish, and is then a line with the same answer") {
  const std::string count = "count -i 64 -w 16 --q-tile 8 --kv-tile 4";
  const auto lines = run(count + " --batch - --with-input", "{\"id\": 3, \"stride\": [8]}\n{\"strid\": 8}\n");
  const std::vector<Json> answers = lines_of(lines.out);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["id"] == 3);
  CHECK(answers[0]["input"] == Json::parse(run(count + " -s 8 --json").out)["input"]);
  CHECK(answers[1].contains("error"));
  CHECK(lines_of(run("count --batch - --with-input", answers[0].dump() + "\n").out).at(0) == answers[0]);
  const std::string search = "search -i 64 64 --sparsity 0.8:0.9 --top 1";
  CHECK(lines_of(run(search + " --batch - --with-input", "{}\n").out).at(0)["input"] ==
        Json::parse(run(search + " --json").out)["input"]);
  natten_sim::test::check_refused(count + " --with-input", {"with-input", "--batch"});
}

TEST_CASE("objects of --json are lines again: whole, their input, their result") {
  for (const std::string line :
       {"count --preset flux1-dev-4k -w 80 80 -s 16 1 --add-kv 7 --dense-steps 9/28 --backprop",
        "count -i 33 -w 8 --dilation 2 -c 1 --q-tile 3 --kv-tile 5"}) {
    INFO(line);
    const Json whole = Json::parse(run(line + " --no-conclusion --json").out);
    Json result = whole["result"];
    result["id"] = "result";
    const auto done = run("count --batch -", whole.dump() + "\n" + whole["input"].dump() + "\n" +
                                                 Json{{"input", whole["input"]}}.dump());
    CHECK(done.exit_code == 0);
    for (const Json& again : lines_of(done.out)) CHECK(again == whole["result"]);
    // A result says nothing of the problem but extra tokens: the command line does.
    const auto repeated = run(line + " --batch -", result.dump());
    CHECK(repeated.exit_code == 0);
    CHECK(lines_of(repeated.out).at(0) == [&] {
      Json expected{{"id", "result"}};
      expected.update(whole["result"]);
      return expected;
    }());
  }
  // A candidate of a search says its window, stride and tiles beside its counts.
  const std::string setting = "-i 64 64 -d 128 --dtype bf16 --add-kv 7 --device h200 ";
  for (const char* options : {"", "--phase both", "--objective work", "--kernel hopper-fna"}) {
    const Json found = result_of("search " + setting + "--sparsity 0.9:0.95 --top 2 " + options);
    REQUIRE(found["candidates"].size() == 2);
    for (const Json& candidate : found["candidates"]) {
      CAPTURE(options, candidate.dump());
      const auto done = run("count " + setting + "--batch -", candidate.dump());
      REQUIRE(done.exit_code == 0);
      CHECK(lines_of(done.out).at(0)["visited_tiles"] == candidate["visited_tiles"]);
    }
  }
}

TEST_CASE("a bad line gets an error object in its place, the others are answered, and the exit code is 2") {
  const std::string good = "{\"stride\": [8]}\n";
  for (const std::string bad : {"{\"stride\": [17]}",
                                "{\"stride\": [8, 8]}",
                                "{\"stride\": [0]}",
                                "{\"stride\": [-1]}",
                                "{\"stride\": [1.5]}",
                                "{\"stride\": []}",
                                "{\"strid\": [8]}",
                                "{\"stride\": [8], \"stride\": [4]}",
                                "[8]",
                                "8",
                                "{\"stride\": [8]",
                                "not json",
                                "",
                                "{\"causal\": [2]}",
                                "{\"kv_tiling\": \"fixed\"}",
                                "{\"tiling\": 1}",
                                "{\"add_kv\": -1}",
                                "{\"input\": [18446744073709551615]}",
                                "{\"input\": [1152921504606846976]}",
                                "{\"stride\": [99999999999999999999999]}",
                                "{\"input\": [64, 64]}",
                                "{\"window\": [1, 2, 3, 4, 5]}",
                                "{\"q_tile\": [8, 8]}",
                                "{\"kv_tile\": [true]}"}) {
    INFO(bad);
    const auto done = run("count -i 64 -w 16 --q-tile 8 --kv-tile 4 --batch -", good + bad + "\n" + good);
    CHECK(done.exit_code == 2);
    const std::vector<Json> results = lines_of(done.out);
    REQUIRE(results.size() == 3);
    CHECK(results[0]["visited_tiles"] == 32);
    CHECK(results[2]["visited_tiles"] == 32);
    REQUIRE(results[1].contains("error"));
    CHECK(results[1]["error"]["line"] == 2);
    CHECK_FALSE(results[1]["error"]["message"].get<std::string>().empty());
    CHECK_FALSE(results[1]["error"]["accepted"].get<std::string>().empty());
  }
}

TEST_CASE("deep, long, NUL-ridden and hopeless lines are bad lines like others") {
  const std::string deep = "{\"input\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
  const std::string nul = std::string("{\"stride\": [8]}") + '\0' + "junk";
  const std::string long_key = "{\"" + std::string(30000, 'k') + "\": 1}";
  const std::string hopeless =
      "{\"input\": [2000000000], \"window\": [3], \"dilation\": [2], \"tiling\": \"single\"}";
  const auto done = run("count -i 64 -w 16 --q-tile 8 --kv-tile 4 --batch -",
                        deep + "\n" + nul + "\n" + long_key + "\n" + hopeless + "\n{}\n");
  CHECK(done.exit_code == 2);
  const std::vector<Json> results = lines_of(done.out);
  REQUIRE(results.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK(results[i].contains("error"));
  CHECK(results[4]["visited_tiles"] == 44);
  CHECK(done.out.size() < 5000);
}

TEST_CASE("bytes that are no text do not break the error object") {
  const auto done = run("count -i 64 -w 16 --q-tile 8 --kv-tile 4 --batch -", "{\"\xff\xfe\": 1}\n{}\n");
  CHECK(done.exit_code == 2);
  CHECK(lines_of(done.out).size() == 2);
}

TEST_CASE("blank lines at the end are no lines, an empty batch has an empty answer") {
  CHECK(lines_of(run("count -i 64 -w 16 --q-tile 8 --kv-tile 4 --batch -", "{}\n\n  \n").out).size() == 1);
  const auto empty = run("count --batch -", "");
  CHECK(empty.exit_code == 0);
  CHECK(empty.out.empty());
}

TEST_CASE("a missing batch file is an error with nothing on stdout") {
  const auto done = run("count --batch /nonexistent/lines");
  CHECK(done.exit_code == 2);
  CHECK(done.out.empty());
  CHECK(done.err.find("/nonexistent/lines") != std::string::npos);
}

TEST_CASE("a batch file reads like standard input, and --output takes its answers") {
  const std::string folder = natten_sim::test::scratch_folder();
  natten_sim::test::write_text(folder + "/lines", "{}\n{\"stride\": [8]}\n");
  const auto done = run("count -i 64 -w 16 --q-tile 8 --kv-tile 4 --batch " + folder + "/lines --output " +
                        folder + "/answers");
  CHECK(done.exit_code == 0);
  CHECK(done.out.empty());
  CHECK(lines_of(natten_sim::test::read_text(folder + "/answers")).size() == 2);
}

const std::string kSearch = "search -i 64 64 --sparsity 0.8:0.9 --top 3";

TEST_CASE("each line of a search is answered by the result object of the same search, in order") {
  const auto done = run("search --batch -",
                        R"({"id": "a", "input": [64, 64], "sparsity": [0.8, 0.9], "top": 3})"
                        "\n"
                        R"({"input": [128], "window": [32], "q_tile": [64], "kv_tile": [64], "ladder": true})"
                        "\n"
                        R"({"id": [1, {"x": null}], "preset": "flux1-dev-4k", "sparsity": [0.90, 0.91], )"
                        R"("phase": "both", "device": ["h100", "b200"], "objective": "mean", "top": 2})");
  CHECK(done.exit_code == 0);
  std::vector<Json> results = lines_of(done.out);
  REQUIRE(results.size() == 3);
  CHECK(results[0].at("id") == "a");
  CHECK(results[2].at("id") == Json::parse(R"([1, {"x": null}])"));
  for (Json& result : results) result.erase("id");
  CHECK(results[0] == result_of(kSearch));
  CHECK(results[1] == result_of("search -i 128 -w 32 --q-tile 64 --kv-tile 64 --ladder"));
  CHECK(results[2] == result_of("search --preset flux1-dev-4k --sparsity 0.90:0.91 --phase both "
                                "--device h100 b200 --objective mean --top 2"));
}

TEST_CASE("a search's object of --json, its input and its result are lines again, with the same answer") {
  for (const std::string& line :
       {kSearch, kSearch + " --device h100 b200", kSearch + " --phase both --backend hopper-fna -d 128",
        std::string("search -i 128 -w 32 --q-tile 64 --kv-tile 64 --ladder"),
        std::string("search -i 16 16 --q-tile 4 4 --kv-tile 4 4 --any --pareto"),
        std::string("search -i 64 64 --window-range 8:32 --stride-max 4 --add-kv 7 --any --top 2")}) {
    INFO(line);
    const Json whole = Json::parse(run(line + " --no-conclusion --json").out);
    const auto done = run("search --batch -", whole.dump() + "\n" + whole["input"].dump() + "\n");
    CHECK(done.exit_code == 0);
    const std::vector<Json> answers = lines_of(done.out);
    REQUIRE(answers.size() == 2);
    CHECK(answers[0] == whole["result"]);
    CHECK(answers[1] == whole["result"]);
    const auto repeated = run(line + " --batch -", whole["result"].dump() + "\n");
    CHECK(lines_of(repeated.out).at(0) == whole["result"]);
  }
}

TEST_CASE("every option of search may stand in a line") {
  // All that --help lists but what is about files, output and threads.
  std::istringstream help(run("search --help").out);
  const std::vector<std::string> elsewhere = {
      "help",  "config",        "preset-file", "device-file", "costs",   "batch", "with-input", "columns", "measured-only",
      "picture", "picture-kind", "picture-width", "picture-font", "picture-scheme", "table", "table-columns",
      "emit",  "threads",       "timing",      "json",        "csv",     "output",
      "quiet", "no-conclusion", "estimate", "color",       "max-memory",  "max-time"};
  int options = 0;
  for (std::string line; std::getline(help, line);) {
    const std::size_t dashes = line.find("--");
    if (dashes == std::string::npos || line.find_first_not_of(' ') > 6 || line[0] != ' ') continue;
    std::string name = line.substr(dashes + 2, line.find_first_of(" ,", dashes) - dashes - 2);
    if (std::find(elsewhere.begin(), elsewhere.end(), name) != elsewhere.end()) continue;
    std::replace(name.begin(), name.end(), '-', '_');
    if (name == "dim") name = "head_dim";
    INFO(line);
    // No option has such a value: the message is about the value, not about an unknown key.
    const auto done = run("search -i 64 64 --batch -", "{\"" + name + "\": [{\"no\": \"value\"}]}\n");
    const Json error = lines_of(done.out).at(0).at("error");
    CHECK(error.at("parameter") != "key");
    ++options;
  }
  CHECK(options > 30);
}

TEST_CASE("a line's way to say windows, strides and tiles displaces the command line's") {
  const auto lines = [](const std::string& base, const std::string& line) {
    return lines_of(run("search -i 64 64 " + base + " --batch -", line + "\n").out).at(0);
  };
  const std::string range = "search -i 64 64 --window-range 8:16 --top 2";
  CHECK(lines("-w 8 8 --top 2", R"({"window_range": [[8, 16]]})") == result_of(range));
  CHECK(lines("--window-range 8:16 --top 2", R"({"window": [9, 9]})") ==
        result_of("search -i 64 64 -w 9 9 --top 2"));
  CHECK(lines("-w 9 9 -s 3 3", R"({"stride_max": [2]})") ==
        result_of("search -i 64 64 -w 9 9 --stride-max 2"));
  CHECK(lines("-w 9 9 --stride-max 3", R"({"stride": [2, 1]})") ==
        result_of("search -i 64 64 -w 9 9 --stride 2 1"));
  for (const std::string two :
       {R"({"window": [9, 9], "window_range": [[8, 16]]})", R"({"stride": [2, 2], "stride_max": [3]})",
        R"({"ladder": true, "pareto": true})"}) {
    INFO(two);
    CHECK(lines("-w 9 9", two).at("error").at("value").get<std::string>().find("together with") == 0);
  }
}

TEST_CASE("a bad line of a search gets an error object in its place, an empty result says what is near") {
  const auto done = run("search -i 64 64 --top 1 --batch -",
                        "{\"sparsity\": [0.8, 0.9]}\n{\"sparsity\": [0.9, 0.8]}\nno json\n"
                        "{\"sparsity\": [0.99999, 1]}\n");
  CHECK(done.exit_code == 2);
  const std::vector<Json> results = lines_of(done.out);
  REQUIRE(results.size() == 4);
  CHECK(results[0]["candidates"].size() == 1);
  CHECK(results[1]["error"]["line"] == 2);
  CHECK(results[2]["error"]["line"] == 3);
  CHECK(results[3]["candidates"].empty());
  // The smallest windows that NATTEN takes: 4 of 4,096 keys.
  CHECK(results[3]["nearest_sparsity"] == 1 - 4.0 / 4096);
}

}  // namespace batch_test
