#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <natten_sim/io/file_access.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "record/recording_folder.hpp"
#include "registry/point_json.hpp"

namespace natten_sim::validate {

/// A file that is closed at the end. Named, because the lock below has one as a member.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() {
    if (number_ >= 0) (void)::close(number_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

namespace {

namespace fs = std::filesystem;

std::string last_error() { return std::strerror(errno); }

/// Replaces the contents of `path` by `text`, or leaves them unchanged, also when the disk is full.
void replace_file(const std::string& path, const std::string& text) {
  ReplacedFile file("recording", path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file.stream()) == text.size();
  if (!written || !file.commit())
    throw InvalidParameter("recording", path, "a file that can be written (" + last_error() + ")");
}

/// The first part of the heads that differs and makes rows of the two incomparable, in words.
std::string difference(const RecordingHead& there, const RecordingHead& here) {
  const auto text = [](const char* part, const std::string& a, const std::string& b) {
    return a == b ? std::string() : std::string(part) + " '" + a + "' there, '" + b + "' here";
  };
  for (const std::string& part :
       {text("suite", there.suite, here.suite), text("device", there.device.name, here.device.name),
        text("device profile", there.device.profile, here.device.profile),
        text("driver", there.driver, here.driver), text("toolkit", there.toolkit, here.toolkit),
        text("profiler", there.profiler, here.profiler),
        text("clocks", there.clocks_policy, here.clocks_policy),
        text("cache control", there.cache_control, here.cache_control)}) {
    if (!part.empty()) return part;
  }
  if (!(there.device == here.device)) return "another size of the device " + here.device.name;
  return there.metrics == here.metrics ? "" : "other metrics";
}

/// Commits of all runs that added rows, oldest first.
std::string joined_commits(const std::string& there, const std::string& here) {
  const std::string list = ", " + there + ", ";
  return list.find(", " + here + ", ") != std::string::npos ? there : there + ", " + here;
}

/// @throws InvalidParameter where requests may not write
std::string lock_of(const std::string& path) {
  require_writable("recording", path);
  return path + ".lock";
}

}  // namespace

/// Held as long as a run may write the recording; given back by the system when the run is killed.
class RecordingFile::Lock {
 public:
  explicit Lock(const std::string& path)
      : path_(lock_of(path)), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_.number() < 0) {
      throw InvalidParameter("recording", path, "a file that can be written (" + last_error() + ")");
    }
    // On a file system without locks the recording is written without protection.
    const bool busy = ::flock(file_.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (busy || !is_still_there()) {
      throw InvalidParameter("recording", path, "a file that no other run is writing");
    }
  }
  ~Lock() { (void)::unlink(path_.c_str()); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  /// The previous holder of the lock may have removed its file between our opening and locking it.
  [[nodiscard]] bool is_still_there() const {
    struct stat ours {
    }, named{};
    return ::fstat(file_.number(), &ours) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
  }

  std::string path_;
  FileDescriptor file_;
};

RecordingFile::RecordingFile(std::string path, const RecordingHead& head, IfExists if_exists)
    : path_(std::move(path)), lock_(std::make_unique<Lock>(path_)), commit_(head.commit) {
  std::error_code unknown;
  if (!fs::exists(path_, unknown)) {
    recording_.head = head;
    return;
  }
  if (if_exists == IfExists::kRefuse) {
    throw InvalidParameter("recording", path_, "a file that is not there yet, or " + mention("resume") + " to go on with it");
  }
  recording_ = parse_recording(read_text("recording", path_), path_);
  // Rows of different sources may be mixed only with resume; rows of different machines never.
  if (const std::string differs = difference(recording_.head, head); !differs.empty()) {
    throw InvalidParameter("recording", path_, "one made in the same way: " + differs, "another folder");
  }
  for (std::size_t i = 0; i < recording_.rows.size(); ++i) by_key_[key_of(recording_.rows[i].point)] = i;
}

RecordingFile::RecordingFile(RecordingFile&&) noexcept = default;
RecordingFile& RecordingFile::operator=(RecordingFile&&) noexcept = default;
RecordingFile::~RecordingFile() = default;

const RecordedRow* RecordingFile::find(const Point& point) const {
  const auto found = by_key_.find(key_of(point));
  return found == by_key_.end() ? nullptr : &recording_.rows[found->second];
}

void RecordingFile::put(const RecordedRow& row) {
  const auto [place, is_new] = by_key_.try_emplace(key_of(row.point), recording_.rows.size());
  if (is_new) {
    recording_.rows.push_back(row);
  } else {
    recording_.rows[place->second] = row;
  }
  recording_.head.commit = joined_commits(recording_.head.commit, commit_);
  replace_file(path_, recording_json(recording_));
}

namespace {

std::string without_version(const std::string& schema) { return schema.substr(0, schema.find('/')); }

}  // namespace

std::vector<FolderText> files_of_schema(const std::string& folder, const char* schema) {
  require_path("recorded", folder);
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;
    if (entry->path().extension() == ".json" && fs::is_regular_file(entry->path(), unreadable)) {
      paths.push_back(entry->path());
    }
  }
  if (error)
    throw InvalidParameter("recorded", folder, "a folder that can be read (" + error.message() + ")");
  std::sort(paths.begin(), paths.end());
  std::vector<FolderText> files;
  for (const fs::path& path : paths) {
    std::string text = read_text("recording", path.string());
    const Json root = parse_strict(text, path.string());
    const auto found = root.find("schema");
    if (found == root.end() || !found->is_string()) continue;
    const auto given = found->get<std::string>();
    if (given == schema) {
      files.push_back({path.string(), std::move(text)});
    } else if (without_version(given) == without_version(schema)) {
      throw MalformedData(path.string(), "'schema' is \"" + given + "\"", schema);
    }
  }
  return files;
}

std::vector<Recording> read_recordings(const std::string& folder) {
  std::vector<Recording> recordings;
  for (const FolderText& file : files_of_schema(folder, kRecordingSchema)) {
    recordings.push_back(parse_recording(file.text, file.path));
  }
  if (recordings.empty())
    throw InvalidParameter("recorded", folder,
                           std::string("a folder with recordings (") + kRecordingSchema + ")");
  return recordings;
}

}  // namespace natten_sim::validate
