#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include "catch.hpp"
#include "program.hpp"

namespace files_test {

using namespace natten_sim::test;

const std::string kSmall = "count -i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4";

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_CASE("a file from --output holds exactly what stdout would have") {
  const std::string folder = scratch_folder();
  const auto done = run(kSmall + " --json --output " + folder + "/out.json");
  CHECK(done.exit_code == 0);
  CHECK(done.out.empty());
  CHECK(read_text(folder + "/out.json") == run(kSmall + " --json").out);
  CHECK(entries(folder) == 1);
}

TEST_CASE("an unwritable output is exit 2 and leaves nothing behind") {
  const auto done = run(kSmall + " --output /nonexistent/out.json");
  CHECK(done.exit_code == 2);
  CHECK(done.err.find("/nonexistent/out.json") != std::string::npos);
  const std::string folder = scratch_folder();
  CHECK(run(kSmall + " --output " + folder).exit_code == 2);
  CHECK(run("count -i 64 -w 65 --q-tile 8 --kv-tile 4 --output " + folder + "/x").exit_code == 2);
  CHECK(entries(folder) == 0);
}

TEST_CASE("a full disk is an error, on standard output and in files") {
  REQUIRE(std::filesystem::exists("/dev/full"));  // every Linux has it
  CHECK(run(kSmall + " --output /dev/full").exit_code == 1);
  CHECK(natten_sim::test::shell_exit_code("\"$PROGRAM\" " + kSmall + " > /dev/full") == 1);
  CHECK(natten_sim::test::shell_exit_code("\"$PROGRAM\" list presets > /dev/full") == 1);
  CHECK(natten_sim::test::shell_exit_code("echo '{}' | \"$PROGRAM\" " + kSmall + " --batch - > /dev/full") ==
        1);
  CHECK(natten_sim::test::shell_exit_code("\"$PROGRAM\" --help > /dev/full") == 1);
}

/// A batch that never ends is sent `signal` once its temporary file is there; then its input ends.
std::string signalled_batch(const std::string& folder, const std::string& start, const std::string& signal) {
  return "mkfifo '" + folder + "/in'; (" + start + " \"$PROGRAM\" " + kSmall + " --batch '" + folder +
         "/in' --output '" + folder + "/out' & pid=$!; exec 3> '" + folder +
         "/in'; echo '{}' >&3; n=0; while ! ls '" + folder +
         "'/.natten-sim-*.tmp > /dev/null 2>&1; do [ $n -lt 2400 ] || exit 99; sleep 0.05; n=$((n+1)); done; "
         "kill -" +
         signal + " $pid; exec 3>&-; wait $pid)";
}

TEST_CASE("an interrupted run leaves no half file") {
  for (const std::string signal : {"INT", "QUIT", "TERM", "HUP"}) {
    const std::string folder = scratch_folder();
    // A shell lets what runs in the background ignore INT and QUIT. It sees 128 + signal number.
    const std::string command = signalled_batch(folder, "env --default-signal=" + signal, signal);
    INFO(signal);
    const int code = natten_sim::test::shell_exit_code(command);
    CHECK(code > 128);
    CHECK(entries(folder) == 1);  // the pipe
  }
}

TEST_CASE("a signal that is ignored stays ignored, as nohup wants it") {
  const std::string folder = scratch_folder();
  CHECK(natten_sim::test::shell_exit_code(signalled_batch(folder, "nohup", "HUP")) == 0);
  CHECK(entries(folder) == 2);  // the pipe and the output
}

TEST_CASE("a file that may grow no further is an error and leaves nothing") {
  const std::string folder = scratch_folder();
  CHECK(natten_sim::test::shell_exit_code("(ulimit -f 1; i=0; while [ $i -lt 99 ]; do echo '{}'; i=$((i+1)); "
                                          "done | \"$PROGRAM\" " +
                                          kSmall + " --batch - --output '" + folder + "/out')") == 1);
  CHECK(entries(folder) == 0);
}

TEST_CASE("links that lead in a circle, long names and endless or deep options are bad input") {
  const std::string folder = scratch_folder();
  std::filesystem::create_symlink(folder + "/a", folder + "/b");
  std::filesystem::create_symlink(folder + "/b", folder + "/a");
  CHECK(run(kSmall + " --output " + folder + "/a").exit_code == 2);
  CHECK(run(kSmall + " --output " + folder + "/" + std::string(300, 'x')).exit_code == 2);
  CHECK(run("schedule --q-tiles 4 --kv-tiles 4 --mask " + folder + "/a").exit_code == 2);
  for (const char* option : {"--config", "--preset-file", "--device-file", "--costs"}) {
    INFO(option);
    CHECK(run(kSmall + " " + option + " /dev/zero").exit_code == 2);
  }
  std::string deep = "a";
  for (int i = 0; i < 40000; ++i) deep += ".a";
  write_text(folder + "/deep.toml", deep + " = 1\n");
  CHECK(run(kSmall + " --config " + folder + "/deep.toml").exit_code == 2);
}

TEST_CASE("names from files cannot steer a terminal or a spreadsheet") {
  const std::string folder = scratch_folder();
  write_text(folder + "/presets.json", R"({"schema": "natten-sim.presets/1", "presets": [
      {"name": "=1+1\u001b[31m", "layout": [8], "windows": [{"window": [4]}]}]})");
  const std::string presets = " --preset-file " + folder + "/presets.json";
  for (const char* form : {"", " --csv", " --json"}) {
    const std::string out = run("list presets" + std::string(form) + presets).out;
    INFO(form);
    CHECK(out.find("=1+1") != std::string::npos);
    CHECK(out.find('\x1b') == std::string::npos);
  }
  CHECK(run("list presets --csv" + presets).out.find("\n'=1+1") != std::string::npos);
  const auto unknown = run("count --preset no-such -w 4" + presets);
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find('\x1b') == std::string::npos);
}

TEST_CASE("a link stays a link and a file keeps its permissions") {
  const std::string folder = scratch_folder();
  write_text(folder + "/target", "old");
  std::filesystem::permissions(folder + "/target",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink(folder + "/target", folder + "/link");
  CHECK(run(kSmall + " --output " + folder + "/link").exit_code == 0);
  CHECK(std::filesystem::is_symlink(folder + "/link"));
  CHECK(read_text(folder + "/target") == run(kSmall).out);
  CHECK(std::filesystem::status(folder + "/target").permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("a picture and an output that is refused leave no file") {
  const std::string folder = scratch_folder();
  CHECK(run(kSmall + " --picture " + folder + "/a --output " + folder + "/a").exit_code == 2);
  CHECK(run(kSmall + " --picture " + folder + "/a --output /nonexistent/x").exit_code == 2);
  CHECK(run(kSmall + " --picture ''").exit_code == 2);
  CHECK(run(kSmall + " --output ''").exit_code == 2);
  CHECK(entries(folder) == 0);
}

TEST_CASE("a config file gives what the command line leaves out") {
  const std::string path = scratch_folder() + "/config.toml";
  write_text(path,
             "input = [64]\nquiet = true\n[count]\nwindow = 16\nstride = [8]\nq-tile = \"8\"\nkv-tile = "
             "[4]\n[search]\ntop = 3\ndistinct = \"none\"\n");
  CHECK(Json::parse(run("count --json --config " + path).out)["result"]["visited_tiles"] == 32);
  CHECK(Json::parse(run("count --json -s 1 --config " + path).out)["result"]["visited_tiles"] == 44);
  CHECK(Json::parse(run("search --json --config " + path).out)["result"]["candidates"].size() == 3);
}

TEST_CASE("a flag that a subcommand's table says is false stays off, whatever the top level says") {
  const std::string path = scratch_folder() + "/config.toml";
  write_text(path, "csv = true\ninput = 64\nwindow = 8\nquiet = true\n[count]\ncsv = false\njson = true\n");
  CHECK(run("count --config " + path).out.starts_with("{"));
  CHECK(run("count --csv --json=false --config " + path).out.starts_with("input,window"));
}

TEST_CASE("an option on the command line drops its rival from the config file") {
  const std::string path = scratch_folder() + "/config.toml";
  write_text(path, "input = [64]\nq-tile = 8\nkv-tile = 4\n[search]\nwindow = 16\nstride = 8\nany = true\n");
  const Json input =
      Json::parse(run("search --json --window-range 4:8 --stride-max 2 --config " + path).out)["input"];
  CHECK(input["window_range"] == Json({{4, 8}}));
  CHECK(input["stride_range"] == Json({{1, 2}}));
  write_text(path, "[search]\nwindow = 16\nwindow-range = \"4:8\"\n");
  CHECK(run("search -i 64 --config " + path).exit_code == 2);
}

TEST_CASE("a bad config file is exit 2") {
  const std::string path = scratch_folder() + "/config.toml";
  for (const char* text :
       {"window = ", "[count]\nwidnow = 3\n", "[cuont]\nwindow = 3\n", "[count]\nquiet = 3\n",
        "[count]\nwindow = []\n", "[count]\nwindow = [{a = 1}]\n", "config = \"x\"\n"}) {
    INFO(text);
    write_text(path, text);
    const auto done = run(kSmall + " --config " + path);
    CHECK(done.exit_code == 2);
    CHECK(done.out.empty());
  }
  CHECK(run(kSmall + " --config /nonexistent.toml").exit_code == 2);
}

TEST_CASE("preset files add models, malformed ones are exit 2") {
  const std::string path = scratch_folder() + "/presets.json";
  write_text(
      path,
      R"({"schema": "natten-sim.presets/1", "presets": [{"name": "mine", "layout": [64], "heads": 3, "sources": {"layout": "me"}}]})");
  CHECK(Json::parse(run("count --preset mine --preset-file " + path + " -w 8 --q-tile 8 --kv-tile 4 --json")
                        .out)["input"]["heads"] == 3);
  CHECK(run("list presets --preset-file " + path).out.find("mine") != std::string::npos);
  write_text(path, R"({"schema": "natten-sim.presets/1", "presets": [{"name": "mine"}]})");
  const auto done = run("count --preset mine --preset-file " + path);
  CHECK(done.exit_code == 2);
  CHECK(done.out.empty());
  CHECK(done.err.find("layout") != std::string::npos);
  CHECK(run("count --preset mine --preset-file /nonexistent").exit_code == 2);
}

TEST_CASE("list shows every entry with its source, as text and JSON") {
  for (const char* what : {"presets", "backends", "devices"}) {
    INFO(what);
    const auto text = run(std::string("list ") + what);
    CHECK(text.exit_code == 0);
    const Json result = natten_sim::test::result_of(std::string("list ") + what)[what];
    CHECK(result.size() >= 4);
    for (const Json& entry : result) {
      CHECK(text.out.find(entry["name"].get<std::string>()) != std::string::npos);
      if (std::string(what) == "devices") {
        for (const Json& value : entry["values"]) CHECK_FALSE(value["source"].get<std::string>().empty());
      } else {
        CHECK_FALSE(entry["source"].get<std::string>().empty());
      }
    }
  }
}

TEST_CASE("lists come as CSV too") {
  const std::string devices = run("list devices --csv").out;
  CHECK(devices.starts_with("name,title,architecture,default_backend,quantity,value,measured,source\n"));
  CHECK(devices.find("h200,") != std::string::npos);
  const std::string backends = run("list backends --csv").out;
  CHECK(backends.find("blackwell-fna,forward,8x4x8,4x4x8,") != std::string::npos);
  CHECK(run("list presets --csv").out.find("hunyuan-video,") != std::string::npos);
}

TEST_CASE("list releases says what changed for users of NATTEN, and each takes its calls") {
  const Json releases = natten_sim::test::result_of("list releases")["releases"];
  REQUIRE(releases.size() >= 2);
  CHECK(releases[0]["name"] == "0.21.7");  // the newest first
  const std::string text = run("list releases").out, csv = run("list releases --csv").out;
  for (const char* change : {"8.0, 9.0, 10.0 and 10.3 only", "2.1 ms instead of 4.5"}) {
    INFO(change);
    CHECK(releases[0]["changes"].dump().find(change) != std::string::npos);
    CHECK(text.find(change) != std::string::npos);
    CHECK(csv.find(change) != std::string::npos);
  }
  CHECK(csv.starts_with("name,copies,change,source\n"));
  for (const Json& release : releases)
    CHECK(run("count -i 64 64 -w 16 16 --natten " + release["name"].get<std::string>()).exit_code == 0);
}

TEST_CASE("every listed name is accepted") {
  const auto check_names = [](const std::string& what, const std::string& arguments) {
    const Json entries = natten_sim::test::result_of("list " + what)[what];
    for (const Json& entry : entries) {
      const std::string line = arguments + entry["name"].get<std::string>();
      INFO(line);
      CHECK(run(line).exit_code == 0);
    }
  };
  check_names("presets", "count --preset ");
  check_names("backends", "count -i 64 64 -w 8 8 --backend ");
  check_names("devices", "count -i 64 64 -w 8 8 --device ");
}

}  // namespace files_test
