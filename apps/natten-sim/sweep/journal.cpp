#include "sweep/journal.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/json_text.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kMaxJournalBytes = std::int64_t{1} << 33;

bool exists(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown);
}

Json value_of_line(const std::string& path, int line, std::string_view text) {
  try {
    return parse_json(text);
  } catch (const Error& error) {  // knows neither file nor line
    throw MalformedData("journal " + path, "line " + std::to_string(line) + ": " + error.what(),
                        "a file that sweep --journal wrote for the same sweep");
  }
}

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

SweepJournal::SweepJournal(const Json& sweep, const SweepGrid& grid, const std::vector<std::string>& paths) {
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
  const std::string first = json_text({{"sweep", sweep}}) + "\n";
  if (std::fputs(first.c_str(), file_) < 0 || std::fflush(file_) != 0)
    throw WriteError(path_ + ": cannot write: " + std::strerror(errno));
}

SweepJournal::~SweepJournal() {
  if (file_ != nullptr) std::fclose(file_);
}

void SweepJournal::read(const std::string& path, const Json& sweep, const SweepGrid& grid, bool cut) {
  const std::string text = read_text("journal", path, kMaxJournalBytes);
  const auto malformed = [&](const std::string& what) {
    return MalformedData("journal " + path, what, "a file that sweep --journal wrote for the same sweep");
  };
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const Json object = value_of_line(path, line, std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (line == 1) {
      if (!object.is_object() || !object.contains("sweep")) throw malformed("another kind of file");
      if (!(object.at("sweep") == sweep))
        throw malformed("of another sweep: " + json_text(object.at("sweep")));
    } else if (!is_answer(object, grid)) {
      throw malformed("line " + std::to_string(line) + ": no answer at a point of this sweep");
    } else {
      answers_[object.at("point").get<std::int64_t>()] = object;
    }
  }
  if (begin < text.size() && begin == 0) throw malformed("another kind of file");
  std::error_code refused;
  if (cut && begin < text.size()) std::filesystem::resize_file(path, begin, refused);
  if (refused) throw InvalidParameter("journal", path, "a file that can be written");
}

bool SweepJournal::has(std::int64_t point) const {
  const std::lock_guard lock(mutex_);
  return answers_.contains(point);
}

void SweepJournal::add(std::int64_t point, const Json& values, Json answer) {
  Json line = {{"point", point}, {"values", values}};
  for (const auto& [key, value] : answer.items()) line[key] = value;
  const std::string text = json_text(line) + "\n";
  const std::lock_guard lock(mutex_);
  answers_[point] = std::move(line);
  if (file_ == nullptr) return;
  if (std::fputs(text.c_str(), file_) < 0 || std::fflush(file_) != 0)
    throw WriteError(path_ + ": cannot write: " + std::strerror(errno));
}

}  // namespace natten_sim::cli
