#include "sweep/journal.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/file_access.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/json_text.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

constexpr const char* kJournalSchema = "natten-sim.sweep-journal/1";
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 26;
constexpr const char* kWanted = "a file that sweep --journal wrote for the same sweep";

bool exists(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown);
}

Json value_of_line(const std::string& path, int line, std::string_view text) {
  try {
    return parse_json(text);
  } catch (const Error& error) {  // knows neither file nor line
    throw MalformedData("journal " + path, "line " + std::to_string(line) + ": " + error.what(), kWanted);
  }
}

/// Requires the line that says which sweep a journal is of. Journals of before formats of them had versions
/// have no schema; they are of version 1.
void require_head(const std::string& path, const Json& head, const Json& sweep) {
  const auto malformed = [&](const std::string& what, const char* wanted) {
    return MalformedData("journal " + path, what, wanted);
  };
  if (!head.is_object() || !head.contains("sweep")) throw malformed("another kind of file", kWanted);
  if (head.contains("schema") && head.at("schema") != kJournalSchema)
    throw malformed("schema " + json_text(head.at("schema")), kJournalSchema);
  if (!(head.at("sweep") == sweep))
    throw malformed("of another sweep: " + json_text(head.at("sweep")), kWanted);
}

/// A file's lines, one at a time, so that neither a long journal nor a file without an end is held as a
/// whole.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), file_(open_stream("journal", path)) {
    if (!file_) refuse();
  }
  /// The next line that has an end. None at the end of the file, whose last line may lack one.
  [[nodiscard]] std::optional<std::string> next() {
    for (;;) {
      if (const std::size_t end = left_.find('\n', looked_); end != std::string::npos) {
        std::string line = left_.substr(0, end);
        left_.erase(0, end + 1);
        looked_ = 0;
        whole_ += end + 1;
        return line;
      }
      looked_ = left_.size();
      char buffer[1 << 16];
      const std::size_t got = std::fread(buffer, 1, sizeof buffer, file_.get());
      if (std::ferror(file_.get()) != 0) refuse();
      if (got == 0) return std::nullopt;
      left_.append(buffer, got);
      if (left_.size() > kMaxLineBytes + sizeof buffer)
        throw InvalidParameter("journal", path_,
                               "lines of at most " + std::to_string(kMaxLineBytes) + " bytes");
    }
  }
  [[nodiscard]] std::uintmax_t whole_bytes() const { return whole_; }  ///< of the lines so far
  [[nodiscard]] bool some_left() const { return !left_.empty(); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] void refuse() const {
    throw InvalidParameter("journal", path_, std::string("a readable file: ") + std::strerror(errno));
  }

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::string left_;
  std::size_t looked_ = 0;
  std::uintmax_t whole_ = 0;
};

/// A point of the grid with the values that it has there, and what was answered.
bool is_answer(const Json& line, const SweepGrid& grid) {
  if (!line.is_object() || !line.contains("point") || !line.at("point").is_number_integer()) return false;
  const auto point = line.at("point").get<std::int64_t>();
  if (point < 0 || point >= grid.points() || !line.contains("values") ||
      !(line.at("values") == grid.names_and_values(point)))
    return false;
  if (line.contains("error")) return line.at("error").is_object() && line.at("error").contains("message");
  return line.contains("input") && line.at("input").is_object() && line.contains("result") &&
         line.at("result").is_object();
}

}  // namespace

SweepJournal::SweepJournal(const Json& sweep, const SweepGrid& grid, const std::vector<std::string>& paths, Keep keep)
    : keep_(std::move(keep)), answered_(static_cast<std::size_t>(grid.points())) {
  if (paths.empty()) return;
  path_ = paths.front();
  for (const std::string& path : paths) {
    if (path != path_ && !exists(path)) throw InvalidParameter("journal", path, "a readable file");
    if (exists(path)) read(path, sweep, grid, path == path_);
  }
  std::error_code unsized;  // a device or a pipe: nothing was read from it
  const bool fresh = !exists(path_) || std::filesystem::file_size(path_, unsized) == 0 || unsized;
  file_ = std::fopen(path_.c_str(), "a");
  if (file_ == nullptr) throw InvalidParameter("journal", path_, "a file that can be written");
  if (!fresh) return;
  const std::string first = json_text({{"schema", kJournalSchema}, {"sweep", sweep}}) + "\n";
  if (std::fputs(first.c_str(), file_) < 0 || std::fflush(file_) != 0)
    throw WriteError(path_ + ": cannot write: " + std::strerror(errno));
}

SweepJournal::~SweepJournal() {
  if (file_ != nullptr) std::fclose(file_);
}

void SweepJournal::read(const std::string& path, const Json& sweep, const SweepGrid& grid, bool cut) {
  Lines lines(path);
  int number = 0;
  while (const std::optional<std::string> line = lines.next()) {
    std::string_view text = *line;
    if (number == 0 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    const Json object = value_of_line(path, ++number, text);
    if (number == 1) {
      require_head(path, object, sweep);
    } else if (!is_answer(object, grid)) {
      throw MalformedData("journal " + path,
                          "line " + std::to_string(number) + ": no answer at a point of this sweep", kWanted);
    } else {
      const auto point = object.at("point").get<std::int64_t>();
      answered_[static_cast<std::size_t>(point)] = true;
      keep_(point, object);
    }
  }
  if (lines.some_left() && number == 0)
    throw MalformedData("journal " + path, "another kind of file", kWanted);
  std::error_code refused;
  if (cut && lines.some_left()) std::filesystem::resize_file(path, lines.whole_bytes(), refused);
  if (refused) throw InvalidParameter("journal", path, "a file that can be written");
}

bool SweepJournal::has(std::int64_t point) const {
  const std::lock_guard lock(mutex_);
  return answered_[static_cast<std::size_t>(point)];
}

void SweepJournal::add(std::int64_t point, const Json& values, const Json& answer) {
  Json line = {{"point", point}, {"values", values}};
  for (const auto& [key, value] : answer.items()) line[key] = value;
  {
    const std::string text = file_ == nullptr ? "" : json_text(line) + "\n";
    const std::lock_guard lock(mutex_);
    answered_[static_cast<std::size_t>(point)] = true;
    if (file_ != nullptr && (std::fputs(text.c_str(), file_) < 0 || std::fflush(file_) != 0))
      throw WriteError(path_ + ": cannot write: " + std::strerror(errno));
  }
  keep_(point, line);
}

}  // namespace natten_sim::cli
