// serve with worker processes, over sockets and HTTP: no request ends the others, none reads what it may not.
#include <csignal>
#include <filesystem>
#include <sstream>

#include <sys/stat.h>

#include "catch.hpp"
#include "program.hpp"
#include "sanitized.hpp"
#include "served_process.hpp"

namespace serve_test {

using namespace natten_sim::test;
namespace fs = std::filesystem;

// A minute of work; no test waits for it.
const std::string kLong = R"({"command": "atomics", "options": {"updates": 4294967295}, "id": 1})" "\n";

std::string count_of(int window, const std::string& id) {
  return R"({"command": "count", "options": {"input": 64, "q_tile": 8, "kv_tile": 4, "window": )" + std::to_string(window) +
         R"(}, "id": )" + id + "}\n";
}

std::vector<Json> answers_in(const std::string& text) {
  std::vector<Json> answers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) answers.push_back(Json::parse(line));
  return answers;
}

TEST_CASE("worker processes give the answers of one process, in the order of the requests") {
  std::string requests;
  for (int window = 2; window <= 41; ++window) requests += count_of(window, std::to_string(window));
  requests += "\n{}\nnothing\n" + std::string(R"({"command": "list", "options": {"what": "devices"}})") + "\n";
  requests += R"({"command": "schedule", "options": {"q_tiles": 4, "heads": 1}, "columns": ["makespan"], "id": "s"})";
  const Run one = run("serve", requests), several = run_process("serve --workers 3", requests);
  REQUIRE(one.exit_code == 0);
  CHECK(several.exit_code == 0);
  CHECK(several.out == one.out);
  CHECK(several.err.empty());
}

TEST_CASE("a request that is cancelled by its id has an error in its place, at work or waiting") {
  const std::string requests = kLong + R"({"command": "atomics", "options": {"updates": 4294967294}, "id": [2, "x"]})" + "\n" +
                               R"({"cancel": [2,"x"], "id": 3})" + "\n" + R"({"cancel": 1})" + "\n" +
                               R"({"cancel": 7})" + "\n" + count_of(16, "4");
  const Run done = run_process("serve --workers 1", requests);
  const std::vector<Json> answers = answers_in(done.out);
  REQUIRE(answers.size() == 6);
  CHECK(answers[0]["id"] == 1);
  CHECK(answers[0]["error"]["value"] == "cancelled");
  CHECK(answers[1]["id"] == Json::parse(R"([2, "x"])"));
  CHECK(answers[1]["error"]["value"] == "cancelled");
  CHECK(answers[2] == Json::parse(R"({"id": 3, "cancelled": true})"));
  CHECK(answers[3] == Json::parse(R"({"cancelled": true})"));
  CHECK(answers[4] == Json::parse(R"({"cancelled": false})"));
  CHECK(answers[5]["result"]["visited_tiles"].is_number());
}

TEST_CASE("in one process nothing is under way that could be cancelled") {
  CHECK(run("serve", "{\"cancel\": 1, \"id\": 2}\n").out == "{\"id\":2,\"cancelled\":false}\n");
}

TEST_CASE("answers as they are ready do not wait for the request before") {
  const std::string requests = kLong + count_of(16, "2") + R"({"cancel": 1, "id": 3})" + "\n";
  const std::vector<Json> asked = answers_in(run_process("serve --workers 1", requests).out);
  const std::vector<Json> ready = answers_in(run_process("serve --workers 1 --as-ready", requests).out);
  REQUIRE(asked.size() == 3);
  REQUIRE(ready.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(asked[i]["id"] == i + 1);
  CHECK(ready[0]["id"] == 3);
  CHECK(ready[1]["id"] == 1);
  CHECK(ready[2]["id"] == 2);
}

TEST_CASE("a worker that does not look at its time is killed, and the next request is answered") {
  const std::string folder = scratch_folder();
  REQUIRE(::mkfifo((folder + "/pipe").c_str(), 0600) == 0);  // opened for ever: nobody writes
  const std::string waits = R"({"command": "reuse", "options": {"trace": "pipe"}, "id": 5})";
  const Run done = run_process("serve --workers 1 --request-time 0.01 --root " + folder, waits + "\n" + count_of(16, "6"));
  const std::vector<Json> answers = answers_in(done.out);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["id"] == 5);
  CHECK(answers[0]["error"]["message"] ==
        "request-time: 0.01 s are over; accepted: a longer time, or a smaller question");
  CHECK(answers[1]["id"] == 6);
  CHECK(answers[1].contains("result"));
}

TEST_CASE("a request beyond a worker's memory is an error") {
  if (kSanitized) return;
  const Run done = run_process("serve --workers 2 --max-memory 1000",
                               R"({"command": "atomics", "options": {"updates": 1, "rows": 268435456}, "id": 1})" "\n" +
                                   count_of(16, "2"));
  const std::vector<Json> answers = answers_in(done.out);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["id"] == 1);
  CHECK(answers[1].contains("result"));
}

TEST_CASE("one line over 64 MiB is answered by an error, and those behind it are answered, by workers too",
          "[.nightly][memory]") {
  const std::string longest = "{\"id\": \"" + std::string(std::size_t{1} << 26, 'x') + "\"}\n";
  const Run done = run_process("serve --workers 2", count_of(16, "1") + longest + count_of(16, "2"));
  const std::vector<Json> answers = answers_in(done.out);
  REQUIRE(answers.size() == 3);
  CHECK(answers[1]["error"]["accepted"] == "lines of at most 67108864 bytes");
  CHECK(answers[2]["id"] == 2);
}

TEST_CASE("requests read files in the folder of --root alone, whatever the path looks like") {
  const std::string folder = scratch_folder(), root = folder + "/root", other = folder + "/root-too";
  fs::create_directories(root + "/in");
  fs::create_directories(other);
  const std::string trace = "0 32\n32 32\n";
  for (const std::string& file : {root + "/in/trace.txt", other + "/trace.txt", folder + "/trace.txt"}) write_text(file, trace);
  fs::create_symlink(folder + "/trace.txt", root + "/link.txt");
  fs::create_symlink(root + "/in/trace.txt", root + "/own-link.txt");
  std::string requests;
  const auto ask = [&](const std::string& path) {
    requests += Json({{"command", "reuse"}, {"options", {{"trace", path}}}, {"id", path}}).dump() + "\n";
  };
  const std::vector<std::string> may = {"in/trace.txt", root + "/in/trace.txt", "in/../in/trace.txt", "own-link.txt"};
  const std::vector<std::string> may_not = {"../trace.txt", folder + "/trace.txt", other + "/trace.txt", "link.txt",
                                            "-", "/dev/null", "/proc/self/environ", "not-there.txt"};
  for (const std::string& path : may) ask(path);
  for (const std::string& path : may_not) ask(path);
  const std::vector<Json> answers = answers_in(run_process("serve --workers 2 --root " + root, requests).out);
  REQUIRE(answers.size() == may.size() + may_not.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    INFO(answers[i].dump());
    CHECK(answers[i].contains(i < may.size() ? "result" : "error"));
  }
  check_refused(run_process("serve --root " + folder + "/nowhere"), "serve", {"root", "a folder"});
}

TEST_CASE("no request writes a file where requests may read some") {
  const std::string root = scratch_folder();
  const std::string request =
      R"({"command": "calibrate", "options": {"plan": true, "kernel": "cutlass-fna", "device": "h200", "script": "script.py"}})";
  const std::vector<Json> answers = answers_in(run_process("serve --workers 1 --root " + root, request + "\n").out);
  REQUIRE(answers.size() == 1);
  INFO(answers[0].dump());
  CHECK(answers[0].contains("error"));
  CHECK(fs::is_empty(root));
}

TEST_CASE("requests do not read the stream that they come from") {
  const std::string requests = R"({"command": "reuse", "options": {"trace": "-"}})" "\n" + count_of(16, "2");
  for (const char* line : {"serve", "serve --workers 1"}) {
    const std::vector<Json> answers = answers_in(run_process(line, requests).out);
    REQUIRE(answers.size() == 2);
    CHECK(answers[0]["error"]["parameter"] == "trace");
    CHECK(answers[1]["id"] == 2);
  }
}

TEST_CASE("clients of a local socket are answered side by side, read no file, and leave no socket behind") {
  const std::string folder = scratch_folder(), path = folder + "/socket";
  write_text(folder + "/trace.txt", "0 32\n");
  ServedProcess served("--workers 2 --socket " + path);
  CHECK(served.place() == path);
  CHECK((fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none);
  Connection first(path), second(path), third(path);
  first.write(kLong);
  third.write(kLong);
  first.write(R"({"cancel": 1, "id": 2})" "\n");  // of its own: the third's request goes on
  CHECK(Json::parse(first.line())["error"]["value"] == "cancelled");
  CHECK(Json::parse(first.line())["cancelled"] == true);
  second.write(count_of(16, "\"a\""));
  second.write(Json({{"command", "reuse"}, {"options", {{"trace", folder + "/trace.txt"}}}}).dump() + "\n");
  CHECK(Json::parse(second.line())["id"] == "a");
  CHECK(Json::parse(second.line())["error"]["parameter"] == "trace");
  second.write(count_of(16, "\"b\"").substr(0, 60));
  second.end_writing();  // a last line without an end is a line
  CHECK(Json::parse(second.line()).contains("error"));
  CHECK(second.line().empty());
  CHECK(served.end());
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a socket of a dead process is replaced, one that is answered is not") {
  const std::string path = scratch_folder() + "/socket";
  {
    ServedProcess killed("--workers 1 --socket " + path);
    REQUIRE(killed.place() == path);
    REQUIRE(::kill(killed.process(), SIGKILL) == 0);
    CHECK_FALSE(killed.end());
  }
  REQUIRE(fs::exists(path));
  ServedProcess served("--workers 1 --socket " + path);
  REQUIRE(served.place() == path);
  const Connection client(path);
  client.write(count_of(16, "1"));
  CHECK(Json::parse(client.line())["id"] == 1);
  check_refused(run_process("serve --socket " + path), "serve --socket", {"socket", path});
}

}  // namespace serve_test
