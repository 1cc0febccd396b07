// One question by every door that reads values: flags, a TOML file, a line of --batch, a request of `serve` and
// one of the pages in a browser. Each spelling is accepted by all of them with the same answer, or refused by all
// in the same words but for how the door spells the option. python/tests/test_doors.py asks Python for every row.
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace doors_test {

using namespace natten_sim::test;

const std::string kTable = std::string(natten_sim::test::kSourceDir) + "/tests/golden/doors.json";

/// A row: the key and the value as JSON has them, the words of the command line that mean the same, which part
/// of kProblem they set, and for rows that are refused what the error says.
struct Spelling {
  std::string key;
  Json value;
  std::string words, sets, refused;
};

std::vector<Spelling> spellings() {
  std::vector<Spelling> all;
  const Json table = Json::parse(read_text(kTable));
  for (const Json& row : table.at("spellings")) {
    all.push_back({row.at("key").get<std::string>(), row.at("value"), row.at("words").get<std::string>(),
                   row.value("sets", std::string()), row.value("refused", std::string())});
  }
  return all;
}

/// The problem of every row, but for what the row sets.
const std::vector<std::pair<std::string, std::string>> kProblem = {
    {"input", "-i 30 48 80"}, {"window", "-w 18 24 24"}, {"q_tile", "--q-tile 4 8 8"}, {"kv_tile", "--kv-tile 2 8 8"}};

std::string flags_without(const Spelling& row) {
  std::string line;
  for (const auto& [option, flags] : kProblem) {
    if (option != row.sets) line += " " + flags;
  }
  return line;
}

/// TOML of a JSON value; none: TOML has no null, no objects and no integers beyond 63 bits.
std::optional<std::string> toml_of(const Json& value) {
  if (value.is_null() || value.is_object()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return std::nullopt;
  return value.dump();
}

struct Answer {
  Json result;
  std::string option, message;  ///< of an error: which option it names, and what it says of it
};

/// "window: '0' is not valid; .." in two parts.
Answer error_of(std::string text) {
  constexpr std::string_view kBegin = "natten-sim: error: ";
  if (text.starts_with(kBegin)) text.erase(0, kBegin.size());
  const std::size_t colon = text.find(": ");
  REQUIRE(colon != std::string::npos);
  return {{}, text.substr(0, colon), text.substr(colon + 2)};
}

/// What the command line spells with dashes before it and within: --device-file is device_file.
std::string without_dashes(std::string text) {
  for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;) text.erase(at, 2);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

Answer by_flags(const Spelling& row) {
  const Run done = run("count" + flags_without(row) + " " + row.words + " --json --quiet --no-conclusion");
  if (done.exit_code == 0) return {Json::parse(done.out).at("result"), "", ""};
  return error_of(done.err.substr(0, done.err.find('\n')));
}

Answer by_file(const Spelling& row, const std::string& toml) {
  const std::string file = scratch_folder() + "/door.toml";
  write_text(file, "\"" + row.key + "\" = " + toml + "\n");
  const Run done =
      run("count" + flags_without(row) + " --config " + file + " --json --quiet --no-conclusion");
  if (done.exit_code == 0) return {Json::parse(done.out).at("result"), "", ""};
  return error_of(done.err.substr(0, done.err.find('\n')));
}

Answer from_line(const std::string& out, bool whole) {
  Json answer = Json::parse(out);
  if (answer.contains("error")) return error_of(answer.at("error").at("message").get<std::string>());
  return {whole ? answer.at("result") : answer, "", ""};
}

Answer by_line(const Spelling& row) {
  const Json line = {{row.key, row.value}};
  return from_line(run("count" + flags_without(row) + " --batch - --quiet", line.dump() + "\n").out, false);
}

/// As `serve` and the pages ask it.
std::string request_of(const Spelling& row) {
  Json options = {{row.key, row.value}};
  for (const auto& [option, flags] : kProblem) {
    std::istringstream words(flags.substr(flags.find(' ')));
    std::vector<int> sizes;
    for (int size = 0; words >> size;) sizes.push_back(size);
    if (option != row.sets) options[option] = sizes;
  }
  return Json({{"command", "count"}, {"options", options}}).dump() + "\n";
}

/// What the pages' module answers to all rows, by the same program for this machine: one process.
std::vector<Answer> by_page(const std::vector<Spelling>& rows) {
  const std::string folder = scratch_folder();
  std::string requests;
  for (const Spelling& row : rows) requests += request_of(row);
  write_text(folder + "/requests.jsonl", requests);
  const std::string line = "'" + std::string(natten_sim::test::kLessons) + "' < '" + folder + "/requests.jsonl' > '" + folder +
                           "/answers.jsonl'";
  REQUIRE(std::system(line.c_str()) == 0);
  std::istringstream answers(read_text(folder + "/answers.jsonl"));
  std::vector<Answer> all;
  for (std::string answer; std::getline(answers, answer);) all.push_back(from_line(answer, true));
  REQUIRE(all.size() == rows.size());
  return all;
}

void check_same(const Spelling& row, const char* door, const Answer& answer, const Answer& expected) {
  INFO(door << ": " << row.key << " = " << row.value.dump() << ": " << answer.message);
  CHECK(answer.result == expected.result);
  CHECK(answer.message.empty() == row.refused.empty());
  CHECK(without_dashes(answer.message) == without_dashes(expected.message));
  if (row.refused.empty()) return;
  CHECK(answer.message.find(row.refused) != std::string::npos);
  CHECK(without_dashes(answer.option) == without_dashes(&answer == &expected ? expected.option : row.key));
}

TEST_CASE("a value is accepted by every door in every spelling, or refused by all in the same words") {
  const std::vector<Spelling> rows = spellings();
  REQUIRE(rows.size() >= 40);
  const std::vector<Answer> pages = by_page(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Spelling& row = rows[i];
    const Answer flags = by_flags(row);
    check_same(row, "flags", flags, flags);
    check_same(row, "batch", by_line(row), flags);
    check_same(row, "serve", from_line(run("serve", request_of(row)).out, true), flags);
    check_same(row, "page", pages[i], flags);
    if (const auto toml = toml_of(row.value)) check_same(row, "file", by_file(row, *toml), flags);
  }
}

TEST_CASE("an option that is given by two spellings at once is refused by every door") {
  const std::string input = "\"input\": [64], \"window\": [16], \"q_tile\": [8], \"kv_tile\": [8]";
  const std::string twice = "\"dim\": 64, \"head-dim\": 64";
  const Answer line = from_line(run("count --batch - --quiet", "{" + input + ", " + twice + "}\n").out, false);
  CHECK(line.message.find("given twice") != std::string::npos);
  const Answer request =
      from_line(run("serve", "{\"command\": \"count\", \"options\": {" + input + ", " + twice + "}}\n").out, true);
  CHECK(request.message.find("given twice") != std::string::npos);
  const std::string file = scratch_folder() + "/twice.toml";
  write_text(file, "dim = 64\nhead-dim = 64\n");
  check_refused("count -i 64 -w 16 --config " + file, {"head-dim", "given twice"});
  check_refused("count -i 64 -w 16 -d 64 --head-dim 64", {"--dim", "one value"});
}

TEST_CASE("a request has one answer, whether its line is plain or needs the full parser") {
  const std::string options = R"("options":{"input":[64],"window":"16","causal":true,"stride":null})";
  const std::string odd = R"("options":{"input":[64.0],"window":"\u0031\u0036","causal":[true],"stride":null})";
  for (const std::string more : {R"(,"id":7)", R"(,"id":"a")", R"(,"columns":["visited_tiles", "window"],"id":-1)"}) {
    const std::string plain = R"({"command":"count",)" + options + more + "}\n";
    const std::string parsed = R"({ "command" : "c\u006funt", )" + odd + more + "}\n";
    INFO(plain);
    const Run done = run("serve", parsed + plain + plain);  // columns are known from the second line on
    REQUIRE(done.exit_code == 0);
    const std::string first = done.out.substr(0, done.out.find('\n') + 1);
    CHECK(done.out == first + first + first);
    CHECK(first.find("visited_tiles") != std::string::npos);
    CHECK(first.starts_with(R"({"id":)"));
  }
}

TEST_CASE("a request that says something twice is refused") {
  const std::string question = R"("options":{"input":[64],"window":[16]})";
  for (const std::string& line :
       {R"({"command":"count","command":"count",)" + question + "}",
        R"({"command":"count","options":{},)" + question + "}",
        R"({"command":"count","id":1,"id":1,)" + question + "}",
        std::string(R"({"command":"count","options":{"input":[64],"window":[16],"window":[16]}})")}) {
    INFO(line);
    CHECK(from_line(run("serve", line + "\n").out, true).message.find("twice") != std::string::npos);
  }
}

TEST_CASE("null is the default, also where the command line has a value") {
  const std::string line = "count -i 64 -w 16 --q-tile 8 --kv-tile 4 -s 8 --batch - --quiet";
  CHECK(from_line(run(line, "{\"stride\": null}\n").out, false).result ==
        result_of("count -i 64 -w 16 --q-tile 8 --kv-tile 4"));
}

TEST_CASE("heads and batches have one bound in every subcommand") {
  for (const std::string command :
       {"count -i 64 -w 16", "search -i 64 -w 16 --top 1", "reuse -i 4096", "advise -i 64 64 --device h200",
        "schedule --q-tiles 4 --algorithm spt", "explain tests/golden/ncu/attention-h200.csv"}) {
    INFO(command);
    for (const std::string option : {"heads", "heads-kv", "batch-size"}) {
      check_refused(command + " --" + option + " 1048577",
                    {option, "1..1048576", "nearest valid value is 1048576"});
      check_refused(command + " --" + option + " 9223372036854775808", {option, "1..1048576"});
    }
  }
}

}  // namespace doors_test
