#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/checked.hpp>

namespace natten_sim::report {

/// `1,234,567`.
[[nodiscard]] std::string grouped(Int128 value);
/// Three digits, and from 1,000 on whole numbers: `0.0123`, `37.8`, `3,783`.
[[nodiscard]] std::string short_text(double value);
/// `1 head`, `2 heads`, of names that take an s.
[[nodiscard]] std::string counted(Int128 count, std::string_view name);

/// A ratio with `decimals`, with exponents from a million on; of one that no double holds, as of denormals, what it is
/// above. "2.50", "3.10e+12", "over 1.80e+308".
[[nodiscard]] std::string ratio_text(double ratio, int decimals = 2);

/// The words of a text on lines of at most `columns` characters, where no word is longer, all but the first
/// indented by four blanks; with a line break at the end. Blanks before the first word stay.
[[nodiscard]] std::string wrapped_text(std::string_view text, std::size_t columns = 100);

enum class LastColumn { kRight, kLeft };

/// Columns padded to their widest cell. The first column is aligned to the left, the others to the right; the
/// last one as asked.
///
///     window    stride  worst
///     18x24x24   1x1x1  5.30x
[[nodiscard]] std::string text_table(const std::vector<std::vector<std::string>>& rows,
                                     LastColumn last = LastColumn::kRight);

}  // namespace natten_sim::report
