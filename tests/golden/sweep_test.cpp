// natten-sim sweep and serve: other ways to ask the same questions.
#include <cstdio>
#include <sstream>

#include "catch.hpp"
#include "program.hpp"
#include "sanitized.hpp"

namespace sweep_test {

using namespace natten_sim::test;

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> objects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) objects.push_back(Json::parse(line));
  return objects;
}

std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

TEST_CASE("each point of a sweep is answered as a run of its own, whatever the number of threads") {
  const std::string options =
      "--q-tile 8 --kv-tile 4 --quiet --jsonl --over window=16:32:8 stride=1,8 causal=false,true";
  const auto done = run("sweep count -i 64 " + options + " --jobs 1");
  REQUIRE(done.exit_code == 0);
  const std::vector<Json> points = json_lines(done.out);
  REQUIRE(points.size() == 3 * 2 * 2);
  std::size_t at = 0;
  for (const char* window : {"16", "24", "32"}) {
    for (const char* stride : {"1", "8"}) {
      for (const char* causal : {"false", "true"}) {
        const Json& point = points[at];
        CHECK(point["point"] == at++);
        CHECK(point["values"] == Json({{"window", window}, {"stride", stride}, {"causal", causal}}));
        CHECK(point["result"] == result_of(std::string("count -i 64 --q-tile 8 --kv-tile 4 -w ") + window +
                                           " -s " + stride + " -c " + causal));
      }
    }
  }
  CHECK(run("sweep count -i 64 " + options + " --jobs 7").out == done.out);
}

TEST_CASE("values of a sweep: steps, factors, lists, a size for each axis, flags") {
  const auto firsts = [](const std::string& line) {
    std::vector<std::string> values;
    const auto rows = cells_of(run(line + " --quiet").out);
    for (std::size_t i = 1; i < rows.size(); ++i) values.push_back(rows[i].front());
    return values;
  };
  using Values = std::vector<std::string>;
  CHECK(firsts("sweep count -i 64 -w 16 --over stride=1:8") ==
        Values{"1", "2", "3", "4", "5", "6", "7", "8"});
  CHECK(firsts("sweep search -i 64 64 --top 1 --over sparsity=90:92").size() == 1);  // its values are ranges
  CHECK(firsts("sweep reuse -d 64 --over seqlen=1024:4096:1024") == Values{"1024", "2048", "3072", "4096"});
  CHECK(firsts("sweep reuse -d 64 --over seqlen=1024:5000:1500") == Values{"1024", "2524", "4024"});
  CHECK(firsts("sweep reuse -d 64 --over seqlen=1024:20000:x4") == Values{"1024", "4096", "16384"});
  CHECK(firsts("sweep count -i 16 16 --over window=3x5,5x3") == Values{"3x5", "5x3"});
  CHECK(firsts("sweep schedule --q-tiles 4 --algorithm spt '--over' 'mask=causal;window:1,0'") ==
        Values{"causal", "\"window:1"});  // a cell with a comma is quoted
  CHECK(firsts("sweep reuse -i 4096 --over interleave_heads=false,true").size() == 2);
}

TEST_CASE("a point that the subcommand refuses has its error in its row, and the others are answered") {
  const auto done = run("sweep count -i 16 --over window=3,99,5");
  CHECK(done.exit_code == 0);
  CHECK(done.err.find("1 of 3 points") != std::string::npos);
  const auto rows = cells_of(done.out);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0][1] == "error");
  CHECK(rows[1][1].empty());
  CHECK(rows[2][1].find("window: 99") == 0);
  CHECK(run("sweep count -i 16 --over window=98,99").exit_code == 2);
}

TEST_CASE("a journal lets a sweep go on, and joins shards") {
  const std::string folder = scratch_folder();
  const std::string sweep = "sweep schedule --q-tiles 8 --algorithm spt --over heads=1:6:1 --quiet --jsonl";
  const std::string whole = run(sweep).out;
  REQUIRE(json_lines(whole).size() == 6);
  const std::string first = folder + "/1.jsonl", second = folder + "/2.jsonl";
  CHECK(json_lines(run(sweep + " --shard 1/2 --journal " + first).out).size() == 3);
  CHECK(json_lines(run(sweep + " --shard 2/2 --journal " + second).out).size() == 3);
  write_text(first, read_text(first) + "{\"point\": 2, \"val");  // killed while it wrote
  CHECK(run(sweep + " --journal " + first + " " + second).out == whole);

  // What a journal has is not asked again: an answer that was changed there comes back.
  std::string changed = read_text(second);
  REQUIRE(changed.find("\"result\":{") != std::string::npos);
  changed.insert(changed.find("\"result\":{") + 10, "\"mark\":1,");
  write_text(second, changed);
  CHECK(run(sweep + " --shard 2/2 --journal " + second).out.find("\"mark\":1") != std::string::npos);

  // A line that is no answer at a point of this sweep is refused, not taken into the table.
  const std::string kept = read_text(second);
  const std::size_t last = kept.rfind('\n', kept.size() - 2) + 1;
  for (const std::string bad :
       {R"({"point": 99, "values": {"heads": "2"}, "input": {}, "result": {}})",
        R"({"point": 1, "values": {"heads": "7"}, "input": {}, "result": {}})",
        R"({"point": 1, "values": {"heads": "2"}, "input": {}})",
        R"({"point": 1, "values": {"heads": "2"}, "error": "no"})", R"({"point": "1"})", "[]"}) {
    INFO(bad);
    write_text(second, kept.substr(0, last) + bad + "\n");
    check_refused(sweep + " --shard 2/2 --journal " + second,
                  {"journal", "no answer at a point of this sweep"});
  }
  write_text(second, kept.substr(0, last) + "{\"point\": \n");
  check_refused(sweep + " --shard 2/2 --journal " + second, {"journal " + second, "line 4"});

  check_refused("sweep schedule --q-tiles 9 --algorithm spt --over heads=1:6:1 --journal " + first,
                {"journal", "another sweep"});
  write_text(folder + "/3", "{\"a\": 1}\n");
  check_refused("sweep schedule --q-tiles 9 --algorithm spt --over heads=1,2 --journal " + folder + "/3",
                {"journal", "another kind"});
}

TEST_CASE("a journal without a version is read, one of an unknown version or without an end refused") {
  const std::string journal = scratch_folder() + "/journal";
  const std::string sweep =
      "sweep schedule --q-tiles 8 --algorithm spt --over heads=1:3:1 --quiet --jsonl --journal ";
  const std::string whole = run(sweep + journal).out, kept = read_text(journal);
  const std::string schema = "\"schema\":\"natten-sim.sweep-journal/1\",";
  REQUIRE(kept.find(schema) == 1);

  std::string changed = kept;
  changed.insert(changed.find("\"result\":{") + 10, "\"mark\":1,");
  changed.erase(1, schema.size());
  write_text(journal, "\xef\xbb\xbf" + changed);
  CHECK(run(sweep + journal).out.find("\"mark\":1") != std::string::npos);

  changed = kept;
  changed.replace(changed.find("journal/1"), 9, "journal/97");
  write_text(journal, changed);
  check_refused(sweep + journal, {"natten-sim.sweep-journal/97", "natten-sim.sweep-journal/1"});

  write_text(journal, kept);
  check_refused(sweep + journal + " /dev/zero", {"journal", "/dev/zero", "lines of at most 67108864 bytes"});
  check_refused(sweep + "/", {"journal", "a readable file"});
  CHECK(run(sweep + journal).out == whole);
}

TEST_CASE("a sweep ends with a sentence on stderr: what was answered, and where a column is least and most") {
  const std::string line = "sweep reuse -d 64 --over seqlen=1024:4096:1024";
  CHECK(run(line).err.find("In short: all 4 points were answered.") != std::string::npos);
  CHECK(run(line + " --quiet").err.empty());
  // Sectors of Q, O, and K and V once for each of the S / 128 tiles: 1024 and 4096 tokens of 128 bytes.
  const auto sectors = [](int tokens) { return 2 * tokens * 4 + 2 * (tokens / 128) * tokens * 4; };
  char most[64];
  std::snprintf(most, sizeof most, "%.4g times as much at seqlen 4096",
                double(sectors(4096)) / sectors(1024));
  const std::string said = run(line + " --y sectors_total").err;
  CHECK(said.find("In short: sectors_total is " + std::to_string(sectors(1024)) + " at seqlen 1024, and ") !=
        std::string::npos);
  CHECK(said.find(most) != std::string::npos);
  CHECK(run("sweep count -i 16 --over window=3,99,5").err.find("1 of 3 points were refused") !=
        std::string::npos);
  check_refused(line + " --y sectors_totl", {"y", "sectors_total"});
}

TEST_CASE("a column that no answer has is refused before any point is asked") {
  // Each point takes minutes: 2^33 sectors are replayed.
  const std::string line =
      "sweep reuse --stream-bytes 2147483648 --fidelity lru --passes 128 --over workers=1,2,3 --quiet ";
  check_refused(line + "--y mis_sectors", {"y", "mis_sectors", "miss_sectors"});
  check_refused(line + "--y miss_sectors --picture /tmp/never.svg --x worker", {"x", "worker", "workers"});
  check_refused(line + "--y miss_sectors --picture /tmp/never.svg --by none_such", {"by", "none_such"});
}

TEST_CASE("columns of the input, of options that were swept, of nested and of ranked results are found") {
  const auto said = [](const std::string& line) { return run("sweep " + line).err; };
  CHECK(said("count -i 16 --over window=3,5 --y window").find("In short: window is 3") != std::string::npos);
  CHECK(said("count -i 16 --over window=3,5 --y input").find("In short: input is 16") != std::string::npos);
  CHECK(said("count -i 16 --over window=3,5 --y flops_attended").find("In short: flops_attended") != std::string::npos);
  CHECK(said("search -i 24 24 --over sparsity=0.5:1,0.75:1 --y visited_tiles").find("In short: visited_tiles") != std::string::npos);
}

TEST_CASE("a sweep is drawn, one line for each value of the second option") {
  const std::string file = scratch_folder() + "/m.svg";
  const auto done = run("sweep reuse -d 64 --over seqlen=1024:4096:1024 causal=false,true --quiet --picture " +
                        file + " --y sectors_total");
  CHECK(done.exit_code == 0);
  const std::string svg = read_text(file);
  CHECK(svg.find("sectors_total over seqlen") != std::string::npos);
  CHECK(svg.find("causal false") != std::string::npos);
  CHECK(svg.find("causal true") != std::string::npos);
}

TEST_CASE("what is wrong with a sweep is said before anything is asked") {
  check_refused("sweep", {"subcommand", "not given"});
  check_refused("sweep cont --over a=1", {"subcommand", "count"});
  check_refused("sweep count -i 16", {"over", "NAME=VALUE"});
  check_refused("sweep count -i 16 --over windw=3", {"windw", "window"});
  check_refused("sweep count -i 16 --over window=3 --foo 4", {"--foo", "count"});
  check_refused("sweep count -i 16 --over window", {"over", "NAME="});
  check_refused("sweep count -i 16 --over window=3,,5", {"over", "empty"});
  check_refused("sweep count -i 16 --over window=3:7:0", {"over", "step"});
  check_refused("sweep count -i 16 --over window=7:3:1", {"over", "LO <= HI"});
  check_refused("sweep count -i 16 --over window=3 window=5", {"over", "twice"});
  check_refused("sweep count --over window=1:100000:1 stride=1:100000:1", {"over", "10000000"});
  check_refused("sweep count -i 16 --over window=3 --shard 3/2", {"shard", "'3/2'", "I/N with 1 <= I <= N"});
  check_refused("sweep count -i 16 --over output=a,b", {"output", "of its own"});
  check_refused("sweep count -i 16 --over window=3 --picture /tmp/never.svg", {"picture", "--y"});
  check_refused("sweep sweep --over window=3", {"subcommand"});
}

TEST_CASE("a request is answered by what the subcommand prints, in order, its id first") {
  const auto done = run(
      "serve",
      R"({"command": "count", "options": {"input": [64], "window": 16, "kv-tile": [8], "q_tile": [8]}, "id": [1, "a"]}

{"id": 2, "command": "reuse", "options": {"seqlen": 4096, "dim": 64, "causal": true, "kernel": null}}
{"command": "list", "options": {"what": "devices"}})");
  CHECK(done.exit_code == 0);
  const std::vector<Json> answers = json_lines(done.out);
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].begin().key() == "id");
  CHECK(answers[0]["id"] == Json({1, "a"}));
  CHECK(answers[0]["schema"] == "natten-sim.count/1");
  CHECK(answers[0]["result"] == result_of("count -i 64 -w 16 --q-tile 8 --kv-tile 8"));
  CHECK(answers[1]["result"] == result_of("reuse -i 4096 -d 64 --causal"));
  CHECK(answers[2]["result"] == result_of("list devices"));
}

TEST_CASE("serve answers with the very object that --json prints, of every subcommand") {
  // The command line, and the options of the request.
  const std::vector<std::pair<std::string, std::string>> kSame = {
      {"count -i 1048576 -w 65536 -n 1048576 -b 1048576 -d 1024 --q-tile 256 --kv-tile 128",  // wide integers
       R"({"i": 1048576, "w": 65536, "n": 1048576, "b": 1048576, "d": 1024, "q_tile": 256, "kv_tile": 128})"},
      {"count -i 64 -w 16 --backprop", R"({"i": 64, "w": 16, "backprop": true})"},
      {"count --preset hunyuan-video -w 18 24 24 --device h200 --emit natten",
       R"({"preset": "hunyuan-video", "w": [18, 24, 24], "device": "h200", "emit": "natten"})"},
      {"search -i 64 64 --sparsity 0.9:0.92 --top 2", R"({"input": [64, 64], "sparsity": [0.9, 0.92], "top": 2})"},
      {"schedule --q-tiles 6 --mask causal --algorithm all", R"({"q_tiles": 6, "causal": true, "algorithm": "all"})"},
      {"schedule -i 2048 --device h200 --mask causal --kernel fa3",
       R"({"seqlen_q": 2048, "device": "h200", "mask": "causal", "kernel": "fa3"})"},
      {"reuse -i 4096 -d 64 --causal --order sawtooth", R"({"seqlen": 4096, "d": 64, "causal": 1, "order": "sawtooth"})"},
      {"atomics --updates 1000", R"({"updates": 1000})"},
      {"msda --workload B1_640_d256_L4", R"({"workload": "B1_640_d256_L4"})"},
      {"advise -i 64 64 -n 24 -d 128 --device h200", R"({"input": [64, 64], "n": 24, "d": 128, "device": ["h200"]})"},
      {"list devices", R"({"what": "devices"})"},
      {"list", "{}"},
      {"validate --list", R"({"list": true})"},
      {"reproduce gna --figure 4.5", R"({"work": "gna", "figure": "4.5"})"}};
  for (const auto& [line, options] : kSame) {
    INFO(line);
    const std::string command = line.substr(0, line.find(' '));
    const bool concludes = command != "list" && line != "validate --list";
    const Run printed = run(line + " --json --quiet" + (concludes ? " --no-conclusion" : ""));
    const Run served = run("serve", "{\"command\": \"" + command + "\", \"options\": " + options + "}\n");
    CHECK(Json::parse(served.out) == Json::parse(printed.out));
    CHECK(served.out.find('\n') == served.out.size() - 1);
  }
}

TEST_CASE("what has no object for --json is refused in a request, and the next one is answered") {
  const auto served = run("serve", R"({"command": "reuse", "options": {"predictions": true}, "id": 1}
{"command": "reproduce", "options": {"work": "gna", "figure": "4.5", "markdown": true}, "id": 2}
{"command": "list", "id": 3}
)");
  const std::vector<Json> answers = json_lines(served.out);
  REQUIRE(answers.size() == 3);
  for (int i : {0, 1}) CHECK(answers[static_cast<std::size_t>(i)].contains("error"));
  CHECK(answers[2].contains("result"));
}

TEST_CASE("a sweep that goes on has the table of one that was not stopped, wide integers included") {
  const std::string journal = scratch_folder() + "/wide";
  const std::string sweep =
      "sweep count -i 1048576 -w 65536 -n 1048576 -d 1024 --q-tile 256 --kv-tile 128 "
      "--over batch-size=1,1048576 --quiet";
  const std::string whole = run(sweep).out;
  CHECK(run(sweep + " --journal " + journal).out == whole);
  CHECK(run(sweep + " --journal " + journal).out == whole);
  // 2^20 queries of 2^16 keys, 2^40 heads, 2^12 operations a pair: 2^88.
  CHECK(whole.find("3.094850098213451e+26") != std::string::npos);
}

TEST_CASE("a line that is too long has an error in its place, in requests and in batches") {
  const std::string good = R"({"command": "count", "options": {"input": 64, "window": 16, "q_tile": 8, "kv_tile": 4}})";
  const std::string longest(std::size_t{1} << 26, ' ');
  const Run served = run("serve", good + "\n" + longest + " \n" + good + "\n" + longest + "{}");
  CHECK(served.exit_code == 0);
  const std::vector<Json> answers = json_lines(served.out);
  REQUIRE(answers.size() == 4);
  CHECK(answers[0] == answers[2]);
  CHECK(answers[0].contains("result"));
  for (int i : {1, 3}) {
    const Json& error = answers[static_cast<std::size_t>(i)].at("error");
    CHECK(error.at("parameter") == "requests");
    CHECK(error.at("accepted") == "lines of at most 67108864 bytes");
  }
  const Run batch = run("count -i 64 -w 16 --q-tile 8 --kv-tile 4 --batch - --quiet", "{}\n" + longest + " \n{}\n");
  CHECK(batch.exit_code == 2);
  const std::vector<Json> lines = json_lines(batch.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == lines[2]);
  CHECK(lines[1].at("error").at("line") == 2);
}

TEST_CASE("a request that is wrong has an error in its place, and those after it are answered") {
  const auto done = run("serve", R"([1]
{"command": "count"
{"command": "count", "command": "count"}
{"command": "cont", "id": 7}
{"command": "count", "options": {"windw": 3}}
{"command": "count", "options": {"input": [16], "window": 99}}
{"command": "count", "options": {"input": [16], "window": {}}}
{"command": "count", "options": {"input": [16], "csv": true}}
{"command": "count", "options": {"batch": "/dev/null"}}
{"command": "schedule", "options": {"q_tiles": 4, "algorithm": "best", "checkpoint": "/nowhere/at/all"}}
{"command": "reproduce", "options": {"work": "dash", "html": "/nowhere/at/all"}}
{"command": "count", "option": {}}
{"options": {}}
{"command": "count", "options": {"input": [16], "window": 3}}
)");
  CHECK(done.exit_code == 0);
  const std::vector<Json> answers = json_lines(done.out);
  REQUIRE(answers.size() == 14);
  for (std::size_t i = 0; i < 13; ++i) {
    INFO(i << ": " << answers[i].dump());
    REQUIRE(answers[i].contains("error"));
    for (const char* key : {"message", "parameter", "value", "accepted"})
      CHECK(answers[i]["error"].contains(key));
  }
  CHECK(answers[3]["id"] == 7);
  CHECK(answers[3]["error"]["hint"] == "count");
  CHECK(answers[4]["error"]["hint"] == "window");
  CHECK(answers[5]["error"]["parameter"] == "window");
  const char* const kOfARun[] = {"csv", "batch", "checkpoint", "html"};
  for (std::size_t i = 0; i < 4; ++i) CHECK(answers[7 + i]["error"]["parameter"] == kOfARun[i]);
  CHECK(answers[13]["result"] == result_of("count -i 16 -w 3"));
}

TEST_CASE(
    "a request that takes longer than --request-time has an error in its place, and the next is answered") {
  const auto served =
      run("serve --request-time 0.1", R"({"command": "atomics", "options": {"updates": 4294967295}}
{"command": "schedule", "options": {"workers": 32, "heads": 3, "mask": "gna:i=24x24,w=8x8,s=4x4,q-tile=4x4,kv-tile=4x4", "algorithm": "best", "effort": 1000000}}
{"command": "reuse", "options": {"input": 16777216, "device": "h200", "fidelity": "lru"}, "id": 3}
{"command": "count", "options": {"input": 64, "window": 16, "q_tile": 8, "kv_tile": 4}}
)");
  INFO(served.out << served.err);
  CHECK(served.exit_code == 0);
  const std::vector<Json> answers = json_lines(served.out);
  REQUIRE(answers.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(answers[i]["error"]["parameter"] == "request-time");
    CHECK(answers[i]["error"]["message"] ==
          "request-time: 0.1 s are over; accepted: a longer time, or a smaller question");
  }
  CHECK(answers[2]["id"] == 3);
  CHECK(answers[3].contains("result"));
  check_refused("serve --request-time 0 --requests /dev/null", {"request-time", "'0'", "0.001"});
}

TEST_CASE(
    "a request for more memory than serve may have has an error in its place, and the next is answered") {
  if (kSanitized) return;
  const auto served =
      run("serve --max-memory 1000",
          R"({"command": "atomics", "options": {"updates": 1, "rows": 268435456, "distribution": "zipf:1"}}
{"command": "count", "options": {"input": 64, "window": 16, "q_tile": 8, "kv_tile": 4}}
)");
  INFO(served.out << served.err);
  CHECK(served.exit_code == 0);
  const std::vector<Json> answers = json_lines(served.out);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["error"]["parameter"] == "rows");
  CHECK(answers[0]["error"]["value"] == "268435456, which takes about 3105 MiB of memory,");
  CHECK(answers[1].contains("result"));
}

}  // namespace sweep_test
