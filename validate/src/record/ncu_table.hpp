#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace natten_sim::validate {

using NcuCells = std::vector<std::string>;

struct NcuHeader {
  NcuCells cells;
  char separator = ',';
  std::size_t id = 0, kernel = 0;
  std::optional<std::size_t> process, grid, block;
  std::optional<std::size_t> metric, unit, value;  // of the details page
  std::optional<NcuCells> units;                   // of the raw page: its second row

  [[nodiscard]] bool details() const { return metric && unit && value; }
};

/// Rows of `ncu --csv`, from the front. A header has the cells "ID" and "Kernel Name", between commas,
/// semicolons or tabs; a second profile in the file has its own. A row begins with a number, or is the row of
/// units; other lines are the program's or ncu's, before, between and after the table, and are skipped. Rows
/// of the details page end after their value, or are as long as the header; rows of the raw page are as long.
class NcuTable {
 public:
  NcuTable(std::string_view text, const std::string& where);

  /// Goes to the next row that has values. @throws MalformedData naming the line.
  [[nodiscard]] bool next();
  [[nodiscard]] const NcuHeader& header() const { return *header_; }
  [[nodiscard]] const NcuCells& cells() const { return cells_; }
  [[nodiscard]] bool has_header() const { return header_.has_value(); }
  /// "profile.csv:12"
  [[nodiscard]] std::string place() const;

  /// Calls `visit(metric, unit, value)` for what the row has: one of the details page, a column each of the
  /// raw page.
  template <typename Visit>
  void for_each_value(const Visit& visit) const {
    const NcuHeader& header = *header_;
    if (header.details()) {
      visit(cells_[*header.metric], cells_[*header.unit], without_instances(cells_[*header.value]));
      return;
    }
    for (std::size_t i = 0; i < header.cells.size(); ++i)
      visit(header.cells[i], (*header.units)[i], without_instances(cells_[i]));
  }

 private:
  [[nodiscard]] bool take_header(std::string_view line);
  [[nodiscard]] bool take_row(std::string_view line);
  void require_length();
  /// "0.084" of "0.084 (1; 2; 3)".
  [[nodiscard]] static std::string without_instances(const std::string& value);

  std::string_view rest_;
  const std::string* where_;
  std::size_t line_ = 0;
  std::optional<NcuHeader> header_;
  NcuCells cells_;
};

}  // namespace natten_sim::validate
