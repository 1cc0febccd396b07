#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/validate/compare/comparison.hpp>

namespace natten_sim::validate {

/// Of all answers of a kind that were measured, how many lie in the interval that the answer states?

/// A launch that no constant behind its answer was fitted to, and what the answer says of it. Nanoseconds.
struct JudgedAnswer {
  std::string kind;    ///< `time`, `schedule` or `scatter`
  std::string device;
  std::string regime;  ///< answers whose errors are alike: "hopper-fna forward, head dim 128"
  std::string suite;
  std::string point;  ///< key_of
  double predicted = 0;
  double low = 0, high = 0;
  double measured = 0;  ///< median

  [[nodiscard]] bool inside() const noexcept { return low <= measured && measured <= high; }
  friend bool operator==(const JudgedAnswer&, const JudgedAnswer&) = default;
};

/// Those rows of a comparison that state an interval and were not fitted, in their order.
[[nodiscard]] std::vector<JudgedAnswer> judged_answers(const Comparison& comparison);

/// The shipped recordings by today's models, as data/judged/answers.json has them.
[[nodiscard]] std::vector<JudgedAnswer> stored_judged_answers();
/// @throws MalformedData naming `where`.
[[nodiscard]] std::vector<JudgedAnswer> parse_judged_answers(std::string_view json, const std::string& where);

/// kFew: fewer than 20 answers, of which a share says little. kNarrow: less than 85% lie inside. kWide: more than 97%.
enum class TrustVerdict { kHolds, kNarrow, kWide, kFew };

inline constexpr std::size_t kFewestJudged = 20;
inline constexpr double kLeastInside = 0.85, kMostInside = 0.97;

/// The answers of one regime on one device.
struct TrustRow {
  std::string kind, device, regime;
  std::size_t points = 0, inside = 0;
  double share = 0;         ///< inside / points, 0..1
  double width = 0;         ///< median of high / predicted - 1
  double median_error = 0;  ///< of |measured / predicted - 1|
  double worst_error = 0;
  TrustVerdict verdict = TrustVerdict::kFew;
};

/// One row a regime and device, in the order of kinds, devices and regimes. O(n log n).
[[nodiscard]] std::vector<TrustRow> trust(const std::vector<JudgedAnswer>& answers);

}  // namespace natten_sim::validate

namespace natten_sim {

template <>
struct NamesOf<validate::TrustVerdict> {
  static constexpr const char* kConcept = "verdict";
  static constexpr Name<validate::TrustVerdict> kTable[] = {{validate::TrustVerdict::kHolds, "holds"},
                                                            {validate::TrustVerdict::kNarrow, "narrow"},
                                                            {validate::TrustVerdict::kWide, "wide"},
                                                            {validate::TrustVerdict::kFew, "few"}};
};

}  // namespace natten_sim
