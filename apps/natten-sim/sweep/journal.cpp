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

}  // namespace

SweepJournal::SweepJournal(const Json& sweep, const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  path_ = paths.front();
  for (const std::string& path : paths) {
    if (path != path_ && !exists(path)) throw InvalidParameter("journal", path, "a readable file");
    if (exists(path)) read(path, sweep, path == path_);
  }
  const bool fresh = !exists(path_) || std::filesystem::file_size(path_) == 0;
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

void SweepJournal::read(const std::string& path, const Json& sweep, bool cut) {
  const std::string text = read_text("journal", path, kMaxJournalBytes);
  const auto malformed = [&](const std::string& what) {
    return MalformedData("journal " + path, what, "a file that sweep --journal wrote for the same sweep");
  };
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const Json object = parse_json(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (line == 1) {
      if (!object.is_object() || !object.contains("sweep")) throw malformed("another kind of file");
      if (!(object.at("sweep") == sweep))
        throw malformed("of another sweep: " + json_text(object.at("sweep")));
    } else if (!object.is_object() || !object.contains("point")) {
      throw malformed("line " + std::to_string(line));
    } else {
      answers_[object.at("point").get<std::int64_t>()] = object;
    }
  }
  if (begin < text.size() && begin == 0) throw malformed("another kind of file");
  if (cut && begin < text.size()) std::filesystem::resize_file(path, begin);
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
