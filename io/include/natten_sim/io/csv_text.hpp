#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// CSV as programs print it in any locale: cells, and the numbers in them.

/// The cells of one line: quoted or not, a doubled quote inside quotes is one. Empty when a quote does not
/// close; cells have no line ends.
[[nodiscard]] std::optional<std::vector<std::string>> csv_cells(std::string_view line, char separator = ',');

/// What stands before decimals; the other of the two may separate thousands.
enum class DecimalMark { kPoint, kComma };

template <>
struct NamesOf<DecimalMark> {
  static constexpr const char* kConcept = "decimal";
  static constexpr Name<DecimalMark> kTable[] = {{DecimalMark::kPoint, "point"},
                                                 {DecimalMark::kComma, "comma"}};
};

/// What one number tells about the locale that printed it.
///
///     0.084    12,5    1.234,5    1,234,567       kDecided: only one reading is possible
///     1,234    351.328                            kDoubtful: a thousand and some, or one and some
///     12       1 234    abc                       kNothing
struct DecimalEvidence {
  enum class Kind { kNothing, kDoubtful, kDecided };
  Kind kind = Kind::kNothing;
  DecimalMark mark = DecimalMark::kPoint;  ///< kDecided: this; kDoubtful: if it is a whole number
  friend bool operator==(const DecimalEvidence&, const DecimalEvidence&) = default;
};
[[nodiscard]] DecimalEvidence decimal_evidence(std::string_view number);

/// A number that is not negative: digits, in groups of three with separators or without, and decimals after
/// `mark`. Thousands are separated by the other mark, an apostrophe, a blank or a narrow blank (UTF-8).
/// Empty: it is something else. "7", "1,234.5", "1 234,5", "1'234.5", "1.05e-05".
[[nodiscard]] std::optional<double> localised_number(std::string_view text, DecimalMark mark);

}  // namespace natten_sim
