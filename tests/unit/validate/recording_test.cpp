// Recordings on disk: whole after every point, never overwritten silently, refused when damaged.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "catch.hpp"

namespace recording_test {

using namespace natten_sim;
using namespace natten_sim::validate;
namespace fs = std::filesystem;

/// A fresh folder, removed at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("natten-sim-recording-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] std::string file(const char* name) const { return (path / name).string(); }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// No file may grow beyond `bytes`: what a full disk does to a write.
struct FileSizeLimit {
  rlimit before{};
  explicit FileSizeLimit(std::size_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before); }
};

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
  StreamCase point;
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
  CHECK(folder.files() == std::vector<std::string>{"r.json"});
  RecordingHead head = example_head();
  head.commit = "def";  // a later commit may go on with it
  RecordingFile file(path, head, IfExists::kResume);
  CHECK(file.find(example_row(1).point) != nullptr);
  CHECK(file.find(example_row(3).point) == nullptr);
  CHECK(file.recording().head.commit == "abc");  // nothing is of the other yet
  file.put(example_row(3));
  file.put(example_row(1));  // replaces
  CHECK(parse_recording(read(path), path).rows.size() == 3);
  // Rows are from both, so both are named.
  CHECK(parse_recording(read(path), path).head.commit == "abc, def");
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
  std::ofstream(folder.file(".natten-sim-0123.tmp")) << "{\"schema\": \"natten-";
  RecordingFile file(path, example_head(), IfExists::kResume);
  CHECK(file.recording().rows.size() == 1);
  CHECK(read_recordings(folder.path.string()).size() == 1);
}

TEST_CASE("a file that cannot be written is an error, and what was there stays") {
  // Found out before anything is measured.
  CHECK_THROWS_AS(RecordingFile("/no/such/folder/r.json", example_head(), IfExists::kRefuse),
                  InvalidParameter);
  const Folder folder;
  const std::string path = folder.file("r.json");
  RecordingFile file(path, example_head(), IfExists::kRefuse);
  file.put(example_row(1));
  const std::string before = read(path);
  const fs::path elsewhere = folder.path.string() + "-elsewhere";
  fs::rename(folder.path, elsewhere);  // the next write finds no folder
  CHECK_THROWS_AS(file.put(example_row(2)), InvalidParameter);
  fs::rename(elsewhere, folder.path);
  CHECK(read(path) == before);
  file.put(example_row(3));  // with what could not be written before
  CHECK(parse_recording(read(path), path).rows.size() == 3);
}

TEST_CASE("a full disk is an error, leaves the last complete state and nothing beside it") {
  const Folder folder;
  const std::string path = folder.file("r.json");
  RecordingFile file(path, example_head(), IfExists::kRefuse);
  file.put(example_row(1));
  const std::string before = read(path);
  {
    const FileSizeLimit full(before.size() + 10);
    CHECK_THROWS_AS(file.put(example_row(2)), InvalidParameter);
  }
  CHECK(read(path) == before);
  CHECK(folder.files() == std::vector<std::string>{"r.json", "r.json.lock"});
  file.put(example_row(2));
  CHECK(parse_recording(read(path), path).rows.size() == 2);
}

TEST_CASE("a run killed while it writes leaves the last complete state, and the next one goes on") {
  const Folder folder;
  const std::string path = folder.file("r.json");
  RecordingFile(path, example_head(), IfExists::kRefuse).put(example_row(1));
  const pid_t child = ::fork();
  if (child == 0) {
    RecordingFile file(path, example_head(), IfExists::kResume);
    for (std::int64_t mib = 2;; ++mib) file.put(example_row(mib));
  }
  REQUIRE(child > 0);
  std::size_t rows = 1;
  for (int wait = 0; wait < 2000 && rows < 5; ++wait) {
    ::usleep(1000);
    rows = parse_recording(read(path), path).rows.size();  // complete at any time
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(rows >= 5);
  RecordingFile file(path, example_head(), IfExists::kResume);  // the lock died with the run
  CHECK(file.recording().rows.size() >= rows);
  file.put(example_row(1 << 20));
  CHECK(parse_recording(read(path), path).rows.size() == file.recording().rows.size());
}

TEST_CASE("two runs do not write one recording at a time") {
  const Folder folder;
  const std::string path = folder.file("r.json");
  {
    RecordingFile first(path, example_head(), IfExists::kRefuse);
    CHECK_THROWS_AS(RecordingFile(path, example_head(), IfExists::kRefuse), InvalidParameter);
    first.put(example_row(1));
    CHECK_THROWS_AS(RecordingFile(path, example_head(), IfExists::kResume), InvalidParameter);
    RecordingFile other(folder.file("other.json"), example_head(), IfExists::kRefuse);
  }
  CHECK(RecordingFile(path, example_head(), IfExists::kResume).recording().rows.size() == 1);
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
}

TEST_CASE("a refused resume says what differs") {
  const Folder folder;
  const std::string path = folder.file("r.json");
  RecordingFile(path, example_head(), IfExists::kRefuse).put(example_row(1));
  const auto refusal = [&](const RecordingHead& head) -> std::string {
    try {
      RecordingFile file(path, head, IfExists::kResume);
    } catch (const InvalidParameter& error) {
      return error.what();
    }
    return "";
  };
  RecordingHead head = example_head();
  head.driver = "1.3";
  CHECK(refusal(head).find("driver '1.2' there, '1.3' here") != std::string::npos);
  head = example_head();
  head.device.name = "GPU Y";
  CHECK(refusal(head).find("'GPU Y' here") != std::string::npos);
  head = example_head();
  head.cache_control = "warm";
  CHECK(refusal(head).find("cache control") != std::string::npos);
  head = example_head();
  head.device.sms = 16;  // a slice of the GPU
  CHECK(refusal(head).find("another size of the device") != std::string::npos);
  head = example_head();
  head.metrics.clear();
  CHECK(refusal(head).find("other metrics") != std::string::npos);
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
        with("\"passes\":8", "\"passes\":9999999999999"),
        // 2^64 - 1 is no -1, nor are there fewer than no sectors.
        with("\"repetitions\":3", "\"repetitions\":18446744073709551615"),
        with("\"repetitions\":3", "\"repetitions\":0"), with("\"repetitions\":3", "\"repetitions\":1.5"),
        with("\"median\":1.5", "\"median\":-1.5"), with("\"median\":1.5", "\"median\":3"),
        with("\"median\":1.5", "\"median\":0.5"), with("\"median\":1.5", "\"median\":null"),
        with("\"median\":1.5", "\"median\":NaN"), with("\"median\":1.5", "\"median\":1e999"),
        with("\"p95\":2", "\"p95\":1e300"), with("\"p95\":2.0,", ""),
        with("\"smallest\":0.125", "\"smallest\":0"), with("\"inputs\":1", "\"inputs\":0"),
        with("\"l2\":\"flushed\"", "\"l2\":\"tepid\""), with("\"sm_mhz\":1980", "\"sm_mhz\":-1"),
        with("\"sms\": 132", "\"sms\": 0"), with("\"l2_bytes\": 62914560", "\"l2_bytes\": -1"),
        with("\"memory_bytes\": 1000000", "\"memory_bytes\": 18446744073709551615"),
        with("\"status\":\"measured\"", "\"status\":\"\""),
        with("\"counters\":{\"dram_read_bytes\"", "\"counters\":{\"dram_raed_bytes\""),
        with("\"dram_read_bytes\": \"", "\"dram_write_bytes\": \""), text + "{}", std::string(100000, '[')}) {
    INFO(damaged);
    std::string message;
    try {
      (void)parse_recording(damaged, "r.json");
    } catch (const MalformedData& error) {
      message = error.what();
    }
    CHECK(message.starts_with("r.json"));  // whatever is wrong, the file is named
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

TEST_CASE("a folder without recordings is refused, other JSON in it is left alone") {
  const Folder folder;
  CHECK_THROWS_AS(read_recordings(folder.path.string()), InvalidParameter);
  CHECK_THROWS_AS(read_recordings("/no/such/folder"), InvalidParameter);
  std::ofstream(folder.file("other.json")) << "{\"schema\": \"natten-sim.stream-recording/1\"}";
  CHECK_THROWS_AS(read_recordings(folder.path.string()), InvalidParameter);
  RecordingFile(folder.file("r.json"), example_head(), IfExists::kRefuse).put(example_row(1));
  // Folders, pipes and dead links are no recordings, whatever they are called.
  fs::create_directory(folder.file("folder.json"));
  CHECK(::mkfifo(folder.file("pipe.json").c_str(), 0600) == 0);
  fs::create_symlink("/no/such/file", folder.file("link.json"));
  CHECK(read_recordings(folder.path.string()).size() == 1);
  CHECK_THROWS_AS(RecordingFile(folder.file("folder.json"), example_head(), IfExists::kRefuse),
                  InvalidParameter);
  CHECK_THROWS_AS(RecordingFile(folder.file("folder.json"), example_head(), IfExists::kResume),
                  InvalidParameter);
  std::ofstream(folder.file("z.json")) << "{\"schema\": \"natten-sim.recording/1\"}";
  CHECK_THROWS_AS(read_recordings(folder.path.string()), MalformedData);
}

TEST_CASE("a name that is not UTF-8 does not keep a recording from being written") {
  RecordingHead head = example_head();
  head.driver = "\xff";
  CHECK(parse_recording(recording_json({head, {}}), "r.json").head.driver == "\xef\xbf\xbd");
}

}  // namespace recording_test
