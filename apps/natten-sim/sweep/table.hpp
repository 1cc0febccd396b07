#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/io/json.hpp>
#include <natten_sim/report/draw/svg.hpp>

#include "cli/answer_columns.hpp"
#include "sweep/grid.hpp"

namespace natten_sim::cli {

struct SweepPicture {
  std::optional<std::string> x;   ///< a column, of numbers or of names; none: the first option that was swept
  std::optional<std::string> y;   ///< a column of numbers
  std::optional<std::string> by;  ///< a line for each value of this column; none: the second option
};

/// A row for each point: its values, `error`, then the fields of its answer (put_answer_fields), which have numbers
/// in place of the texts of values. Held is the text of each row, not the answer: 100,000 counts are 60 MiB.
class SweepTable {
 public:
  /// `columns`: those that the table has after the swept options and `error`; empty: all. `drawn`: those of a picture
  /// or a sentence. `cells`: whether the table is printed at all. `grid` outlives it.
  SweepTable(const SweepGrid& grid, std::vector<std::string> columns, const SweepPicture& drawn, bool cells);

  /// The line of a point as a journal has it; a later one takes its place. From any thread.
  void add(std::int64_t point, const Json& line);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] std::size_t refused() const;
  /// Of all rows, in the order in which they first appear.
  [[nodiscard]] std::vector<std::string> columns() const;
  /// With a column to draw: it and the swept options, of each row.
  [[nodiscard]] std::vector<Json> drawn_rows() const;
  /// The whole table as CSV, line by line.
  void write_csv(const std::function<void(std::string_view)>& write) const;

 private:
  struct Row {
    std::size_t shape = 0;    ///< which columns it has
    std::string cells;        ///< of these, or of the columns that were asked for, as CSV
    std::vector<Json> drawn;  ///< values of the columns that are drawn
    bool refused = false;
  };
  using Shape = std::vector<std::string>;

  [[nodiscard]] std::size_t shape_number(Shape shape);

  const SweepGrid& grid_;
  Shape header_;  ///< of a table with the columns that were asked for; empty: all
  Shape drawn_;
  bool cells_;
  std::mutex mutex_;
  std::map<Shape, std::size_t> shape_numbers_;
  std::vector<const Shape*> shapes_;
  std::map<std::int64_t, Row> rows_;
};

/// What the table says in one sentence: how many points were refused and, of column `y` if it is given, where
/// it is least and where it is most. @throws InvalidParameter, UnknownName for a column that is not there or
/// has no numbers.
///
///     In short: miss_sectors is 3,650,560 at seqlen 131072, order sawtooth, and 37.92 times as much at
///     seqlen 524288, order cyclic; all 6 points were answered.
[[nodiscard]] std::string sweep_sentence(const SweepGrid& grid, const SweepTable& table,
                                         const std::optional<std::string>& y);

/// @throws InvalidParameter, UnknownName for a column that is not there or has no numbers.
[[nodiscard]] draw::Picture sweep_picture(const std::string& title, const SweepGrid& grid, const SweepTable& table,
                                          const SweepPicture& picture);

}  // namespace natten_sim::cli
