#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>
#include <natten_sim/study/count.hpp>

namespace natten_sim::report {

class JsonMembers;

/// The `result` of `count`, with the `backward` object if that pass was counted.
[[nodiscard]] Json count_result(const study::CountAnswer& answer);
[[nodiscard]] Json count_schema();

/// The same as members of an object, written at once: half a microsecond.
void write_count_result(const study::CountAnswer& answer, JsonMembers& members);

/// One row: the columns of `input`, then those of the result.
[[nodiscard]] Rows count_rows(const Json& input, const study::CountAnswer& answer);

/// For people:
///
///     layout 64   window 16   stride 8
///     Q tile 8   KV tile 4   static KV tiling
///     ...
[[nodiscard]] std::string count_text(const study::CountAnswer& answer);

/// What NATTEN, which has no cyclic axes, runs in place of a count with one, in three lines after an empty one:
///
///     NATTEN has no cyclic axes. Padded with tokens of the other end, to 20:
///     ..
[[nodiscard]] std::string padded_text(const study::CountAnswer& answer);

/// Name and description of a preset, with a remark if the layout is another one.
[[nodiscard]] std::string preset_line(const Preset& preset, const Extents& input);

}  // namespace natten_sim::report
