#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>

namespace natten_sim::report {

/// What two JSON documents are compared by.
struct DiffRules {
  double tolerance = 0;           ///< largest |b - a| / max(|a|, |b|) of two numbers that agree
  std::set<std::string> ignored;  ///< members of these names are passed over, at any depth
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

/// Compares value by value. Members of objects are matched by name; elements of arrays by the first of `point`,
/// `id`, `name`, `algorithm` and `seqlen` that tells them apart in both documents, else by their place.
[[nodiscard]] DocumentDiff document_diff(const Json& a, const Json& b, const DiffRules& rules);

/// {"values", "different", "beyond", "largest_relative", "differences": [{"place", "a", "b", "relative", "beyond"}]}
[[nodiscard]] Json diff_result(const DocumentDiff& diff);
[[nodiscard]] std::string diff_csv(const DocumentDiff& diff);
/// Those beyond the tolerance, and a sentence:
///
///     place               A      B       difference
///     result.time_ns      98012  101234  +3.3%
///
///     1 of 52 values differs by more than 1%.
[[nodiscard]] std::string diff_text(const DocumentDiff& diff, const DiffRules& rules);

}  // namespace natten_sim::report
