#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/io/json.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/validate/published/published_row.hpp>

namespace natten_sim::validate {

/// A figure that somebody else published about their own kernel on their own GPU: one entry of data/claims/.
/// `question` is one of
/// - "time": a run, with the keys of a timed point, of `kernel` on `device`;
/// - "scatter": additions, with the keys of `atomics`; `hot_share` of them go to one row, others anywhere;
/// - "row": one of another work, which asks the same: `work`, `figure` and `item`.
struct Claim {
  std::string publisher, item, source, date, release, gpu, note;
  double value = 0;
  std::string unit;  ///< ms, TFLOP/s or x
  std::string kind;  ///< time, scatter or row
  Json question;
  bool fitted = false;  ///< constants of a model were fitted to it
};

/// A claim counts as met within this factor, less 1.
inline constexpr double kClaimTolerance = 0.25;

/// All of data/claims/, by file, in the order of the files. @throws MalformedData.
[[nodiscard]] std::vector<Claim> published_claims();

/// What this project answers, in the claim's unit, or why nothing.
struct ClaimAnswer {
  std::optional<double> value;
  std::string refusal;
};
/// `works` keeps the rows of works that claims name, which are computed once.
using RowsOfWorks = std::map<std::string, std::vector<PublishedRow>>;
[[nodiscard]] ClaimAnswer answer_claim(const Claim& claim, const study::Context& context, RowsOfWorks& works);

}  // namespace natten_sim::validate
