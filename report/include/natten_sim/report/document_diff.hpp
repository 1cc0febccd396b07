#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>

namespace natten_sim::report {

/// What two JSON documents are compared by.
struct DiffRules {
  double tolerance = 0;           ///< largest |b - a| / max(|a|, |b|) of two numbers that agree
  std::set<std::string, std::less<>> ignored;  ///< members of these names are passed over, at any depth
};

/// A value that differs.
struct Difference {
  std::string place;               ///< `result.candidates[2].speedup.work`, `rows[point={"order":"cyclic"}].time_ms`
  std::optional<Json> a, b;        ///< none: that document has no such value
  std::optional<double> relative;  ///< (b - a) / |a| of two numbers; none where a is 0
  bool beyond = true;              ///< beyond the tolerance
};

struct DocumentDiff {
  std::int64_t values = 0;  ///< places with a value in either document
  std::vector<Difference> differences;

  [[nodiscard]] std::int64_t beyond() const;
  /// The two numbers that are furthest apart; null without any.
  [[nodiscard]] const Difference* largest() const;
};

/// Members that name an element of an array or a line of JSON Lines, in the order in which they are looked for.
inline constexpr std::array<const char*, 5> kNamingMembers = {"point", "id", "name", "algorithm", "seqlen"};

/// Compares value by value. Members of objects are matched by name; elements of arrays by the first of
/// kNamingMembers that tells them apart in both documents, else by their place. What only one document has is one
/// difference, whatever it holds.
[[nodiscard]] DocumentDiff document_diff(const Json& a, const Json& b, const DiffRules& rules);

/// The same for parts of documents: differences have `place` in front. A null pointer: that document lacks it.
[[nodiscard]] DocumentDiff part_diff(const std::string& place, const Json* a, const Json* b, const DiffRules& rules);

/// {"values", "different", "beyond", "largest_relative", "differences": [{"place", "a", "b", "relative", "beyond"}]}
[[nodiscard]] Json diff_result(const DocumentDiff& diff);
[[nodiscard]] Json diff_schema();
[[nodiscard]] Rows diff_rows(const DocumentDiff& diff);
/// Those beyond the tolerance, and a sentence:
///
///     place               A      B       difference
///     result.time_ns      98012  101234  +3.3%
///
///     1 of 52 values differs by more than 1%.
[[nodiscard]] std::string diff_text(const DocumentDiff& diff, const DiffRules& rules);

}  // namespace natten_sim::report
