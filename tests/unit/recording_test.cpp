// Recordings on disk: whole after every point, never overwritten silently, refused when damaged.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/recording.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::validate;
namespace fs = std::filesystem;

/// A fresh folder, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("natten-sim-recording-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] std::string file(const char* name) const { return (path / name).string(); }
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

RecordingHead example_head() {
  RecordingHead head;
  head.suite = "stream";
  head.device = {"GPU \"X\"", "h200", 132, 62914560, 1000000, "9.0"};
  head.driver = "1.2";
  head.toolkit = "3";
  head.profiler = "none: no such thing";
  head.commit = "abc";
  head.metrics["dram_read_bytes"] = "dram__bytes_read.sum";
  return head;
}

RecordedRow example_row(std::int64_t mib) {
  RecordedRow row;
  StreamPoint point;
  point.buffer_mib = mib;
  row.point = point;
  row.counters["dram_read_bytes"] = {{1.5, 2, 1, 2}, 3};
  Timing timing;
  timing.milliseconds = {0.25, 0.5, 0.125, 0.5};
  timing.repetitions = 20;
  timing.before = Clocks{1980, 3201};
  row.timing = timing;
  return row;
}

TEST_CASE("a recording reads back as it was written") {
  Recording recording{example_head(), {example_row(1), example_row(2)}};
  recording.rows[1].status = "out of memory";
  recording.rows[1].timing.reset();
  recording.rows[1].counters.clear();
  const std::string text = recording_json(recording);
  const Recording read_back = parse_recording(text, "r.json");
  CHECK(read_back.head == recording.head);
  CHECK(recording_json(read_back) == text);
  CHECK(read_back.rows[0].timing->before->sm_mhz == 1980);
  CHECK_FALSE(read_back.rows[0].timing->after);
  CHECK(read_back.rows[1].status == "out of memory");
}

TEST_CASE("a file holds every finished point after each, and resumes") {
  const Folder folder;
  const std::string path = folder.file("r.json");
  {
    RecordingFile file(path, example_head(), IfExists::kRefuse);
    file.put(example_row(1));
    CHECK(parse_recording(read(path), path).rows.size() == 1);
    file.put(example_row(2));
    CHECK(parse_recording(read(path), path).rows.size() == 2);
  }
  CHECK_FALSE(fs::exists(path + ".partial"));
  RecordingHead head = example_head();
  head.commit = "def";  // a later commit may go on with it
  RecordingFile file(path, head, IfExists::kResume);
  CHECK(file.find(example_row(1).point) != nullptr);
  CHECK(file.find(example_row(3).point) == nullptr);
  file.put(example_row(3));
  file.put(example_row(1));  // replaces
  CHECK(parse_recording(read(path), path).rows.size() == 3);
  CHECK(parse_recording(read(path), path).head.commit == "abc");
}

TEST_CASE("a file that is there is not overwritten, and another machine's is not mixed in") {
  const Folder folder;
  const std::string path = folder.file("r.json");
  RecordingFile(path, example_head(), IfExists::kRefuse).put(example_row(1));
  const std::string before = read(path);
  CHECK_THROWS_AS(RecordingFile(path, example_head(), IfExists::kRefuse), InvalidParameter);
  RecordingHead head = example_head();
  head.driver = "1.3";
  CHECK_THROWS_AS(RecordingFile(path, head, IfExists::kResume), InvalidParameter);
  CHECK(read(path) == before);
}

TEST_CASE("a leftover of a killed write does not matter") {
  const Folder folder;
  const std::string path = folder.file("r.json");
  RecordingFile(path, example_head(), IfExists::kRefuse).put(example_row(1));
  std::ofstream(path + ".partial") << "{\"schema\": \"natten-";
  RecordingFile file(path, example_head(), IfExists::kResume);
  CHECK(file.recording().rows.size() == 1);
  CHECK(read_recordings(folder.path.string()).size() == 1);
}

TEST_CASE("a file that cannot be written is an error, and what was there stays") {
  RecordingFile file("/no/such/folder/r.json", example_head(), IfExists::kRefuse);
  CHECK_THROWS_AS(file.put(example_row(1)), InvalidParameter);
}

TEST_CASE("damaged recordings are refused") {
  const std::string text = recording_json({example_head(), {example_row(1)}});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string damaged = text;
    const std::size_t at = damaged.find(from);
    REQUIRE(at != std::string::npos);
    return damaged.replace(at, from.size(), to);
  };
  for (const std::string& damaged :
       {std::string(), std::string("[]"), text.substr(0, text.size() / 2), with("recording/1", "recording/2"),
        with("\"suite\"", "\"siute\""), with("\"repetitions\":3", "\"repetitions\":\"3\""),
        with("\"repetitions\":3", "\"repetitions\":3,\"extra\":1"),
        with("dram__bytes_read.sum", "dram__bytes_write.sum"),
        with("\"order\":\"cyclic\"", "\"order\":\"zigzag\""), with("\"buffer_mib\":1", "\"buffer_mib\":0"),
        with("\"buffer_mib\":1", "\"buffer_mib\":1,\"buffer_mib\":2"),
        with("\"passes\":8", "\"passes\":9999999999999")}) {
    INFO(damaged);
    CHECK_THROWS_AS(parse_recording(damaged, "r.json"), Error);
  }
  const std::string row = text.substr(text.find("    {\"point\""));
  const std::string line = row.substr(0, row.find("\n"));
  CHECK_THROWS_AS(parse_recording(with(line, line + ",\n" + line), "r.json"), MalformedData);
}

TEST_CASE("no truncation of a shipped recording is read as a whole one") {
  const std::string text = recording_json({example_head(), {example_row(1)}});
  for (std::size_t n = 0; n + 2 < text.size(); ++n)
    CHECK_THROWS_AS(parse_recording(text.substr(0, n), "r"), MalformedData);
}

TEST_CASE("a folder without recordings is refused; other JSON in it is left alone") {
  const Folder folder;
  CHECK_THROWS_AS(read_recordings(folder.path.string()), InvalidParameter);
  CHECK_THROWS_AS(read_recordings("/no/such/folder"), InvalidParameter);
  std::ofstream(folder.file("other.json")) << "{\"schema\": \"natten-sim.stream-recording/1\"}";
  CHECK_THROWS_AS(read_recordings(folder.path.string()), InvalidParameter);
  RecordingFile(folder.file("r.json"), example_head(), IfExists::kRefuse).put(example_row(1));
  CHECK(read_recordings(folder.path.string()).size() == 1);
}

}  // namespace
