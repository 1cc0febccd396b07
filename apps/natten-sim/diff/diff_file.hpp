#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <natten_sim/io/json.hpp>

#include "cli/line_source.hpp"

namespace natten_sim::cli {

/// A file that diff compares, read from front to end. What it is shows in its first lines:
///
///     {                                                      a document: of --json, or a recording
///     {"id": 1, "visited_tiles": 44}                         JSON Lines: of --batch, serve or sweep --jsonl;
///     {"id": 2, "visited_tiles": 32}                         a line alone may be a document too
///     window,error,input,visited_tiles                       a table: of --csv or a sweep
///     16,,64,44
class DiffFile {
 public:
  enum class Kind { kDocument, kLine, kLines, kTable };

  /// @throws InvalidParameter naming `file`
  explicit DiffFile(const std::string& path);

  [[nodiscard]] Kind kind() const { return kind_; }
  /// All of a document. @throws MalformedData
  [[nodiscard]] Json document();
  /// The next line that is not blank; of a table, after its header.
  bool next(std::string& row);
  /// A line of JSON Lines, or of a table as an object by columns. @throws MalformedData naming line `number`,
  /// from 1.
  [[nodiscard]] Json parse(const std::string& row, std::int64_t number) const;
  /// Cells of a table's line, quotes taken off. @throws MalformedData naming line `number`.
  [[nodiscard]] std::vector<std::string> cells_of(const std::string& line, std::int64_t number) const;
  /// Of a table.
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  /// The line that next() gives next; null at the end.
  [[nodiscard]] const std::string* coming() const { return ahead_.empty() ? nullptr : &ahead_.front(); }
  [[nodiscard]] double share_taken() const { return source_.share_taken(); }

 private:
  void read_ahead();

  std::string path_;
  LineSource source_;
  Kind kind_ = Kind::kDocument;
  std::deque<std::string> ahead_;  ///< lines that were read, and not given; at least one before the end
  std::vector<std::string> columns_;
};

}  // namespace natten_sim::cli
