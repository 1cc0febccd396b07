#include "diff/diff_file.hpp"

#include <charconv>
#include <string_view>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/csv_text.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/unique_keys.hpp>

namespace natten_sim::cli {
namespace {

constexpr std::size_t kMaxDocumentBytes = std::size_t{1} << 28;

std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

bool is_object_line(std::string_view line) { return line.starts_with('{') && line.ends_with('}'); }

/// A header: several names, none of which begins as JSON does.
bool is_header(std::string_view line) {
  return line.find(',') != std::string_view::npos && line.find_first_of("{}[]:") == std::string_view::npos;
}

Json cell_value(const std::string& cell) {
  if (cell.empty()) return nullptr;
  if (cell == "true" || cell == "false") return cell == "true";
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error == std::errc() && end == cell.data() + cell.size()) return parse_json(cell);
  return cell;
}

Json parsed(const std::string& text, const std::string& where) {
  require_unique_keys(text, where);
  return parse_json(text);
}

}  // namespace

std::vector<std::string> DiffFile::cells_of(const std::string& line, std::int64_t number) const {
  std::optional<std::vector<std::string>> cells = csv_cells(line);
  if (!cells)
    throw MalformedData("file " + path_ + ", line " + std::to_string(number), "a quote that does not close",
                        "a line of CSV");
  return *std::move(cells);
}

DiffFile::DiffFile(const std::string& path) : path_(path), source_("file", path) {
  read_ahead();
  read_ahead();
  if (ahead_.empty()) return;
  if (is_object_line(ahead_[0])) {
    kind_ = ahead_.size() == 1 ? Kind::kLine : ahead_[1].starts_with('{') ? Kind::kLines : Kind::kDocument;
  } else if (is_header(ahead_[0])) {
    kind_ = Kind::kTable;
    columns_ = cells_of(ahead_[0], 1);
    ahead_.pop_front();
  }
}

void DiffFile::read_ahead() {
  std::string_view line;
  while (source_.next(line, [] {})) {
    const std::string_view text = trimmed(line);
    if (text.empty()) continue;
    ahead_.emplace_back(text);
    return;
  }
}

Json DiffFile::document() {
  std::string text;
  for (std::string line; next(line);) {
    text += line + "\n";
    if (text.size() > kMaxDocumentBytes)
      throw InvalidParameter("file", path_,
                             "a document of at most " + std::to_string(kMaxDocumentBytes) + " bytes");
  }
  return parsed(text, "file " + path_);
}

bool DiffFile::next(std::string& row) {
  if (ahead_.empty()) return false;
  row = std::move(ahead_.front());
  ahead_.pop_front();
  if (ahead_.empty()) read_ahead();
  return true;
}

Json DiffFile::parse(const std::string& row, std::int64_t number) const {
  const std::string where = "file " + path_ + ", line " + std::to_string(number);
  if (kind_ != Kind::kTable) return parsed(row, where);
  const std::vector<std::string> cells = cells_of(row, number);
  if (cells.size() != columns_.size()) {
    throw MalformedData(where, std::to_string(cells.size()) + " cells",
                        std::to_string(columns_.size()) + ", as the header has");
  }
  Json object = Json::object();
  for (std::size_t i = 0; i < cells.size(); ++i) object[columns_[i]] = cell_value(cells[i]);
  return object;
}

}  // namespace natten_sim::cli
