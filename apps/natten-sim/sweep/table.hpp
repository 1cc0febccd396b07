#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/io/json.hpp>
#include <natten_sim/report/draw/svg.hpp>

#include "cli/answer_columns.hpp"
#include "sweep/grid.hpp"

namespace natten_sim::cli {

/// A row for each point: its values, `error`, then the fields of its answer (put_answer_fields), which have numbers
/// in place of the texts of values.
[[nodiscard]] std::vector<Json> sweep_rows(const SweepGrid& grid,
                                           const std::map<std::int64_t, Json>& answers);

/// With the columns of all rows; or, where `columns` names some, the swept options, `error` and these.
[[nodiscard]] std::string sweep_csv(const SweepGrid& grid, const std::vector<Json>& rows,
                                    const std::vector<std::string>& columns);

struct SweepPicture {
  std::optional<std::string> x;   ///< a column, of numbers or of names; none: the first option that was swept
  std::optional<std::string> y;   ///< a column of numbers
  std::optional<std::string> by;  ///< a line for each value of this column; none: the second option
};

/// What the table says in one sentence: how many points were refused and, of column `y` if it is given, where
/// it is least and where it is most. @throws InvalidParameter, UnknownName for a column that is not there or
/// has no numbers.
///
///     In short: miss_sectors is 3,650,560 at seqlen 131072, order sawtooth, and 37.92 times as much at
///     seqlen 524288, order cyclic; all 6 points were answered.
[[nodiscard]] std::string sweep_sentence(const SweepGrid& grid, const std::vector<Json>& rows,
                                         const std::optional<std::string>& y);

/// @throws InvalidParameter, UnknownName for a column that is not there or has no numbers.
[[nodiscard]] draw::Picture sweep_picture(const std::string& title, const SweepGrid& grid,
                                    const std::vector<Json>& rows, const SweepPicture& picture);

}  // namespace natten_sim::cli
