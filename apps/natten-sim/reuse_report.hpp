#pragma once

#include <optional>
#include <string>
#include <vector>

#include "count_json.hpp"
#include "reuse_answer.hpp"

namespace natten_sim::cli {

/// One answer and, with --compare, a second one.
struct ReusePair {
  std::int64_t seqlen = 0;  ///< of a sweep
  ReuseAnswer first;
  std::optional<ReuseAnswer> second;
};

enum class ReusePicture { kHistogram, kCurve, kSweep };

[[nodiscard]] Json reuse_input(const ReuseRequest& request);
/// The fields of `result`; `compare` holds the second answer and the reductions.
[[nodiscard]] Json reuse_fields(const ReusePair& pair);
[[nodiscard]] std::string reuse_text(const ReuseRequest& request, const ReusePair& pair);
[[nodiscard]] std::string sweep_text(const ReuseRequest& request, const std::vector<ReusePair>& pairs);

/// Rows behind a picture: capacities or distances with counts, or a row a sequence length.
[[nodiscard]] std::string reuse_csv(const ReuseRequest& request, const std::vector<ReusePair>& pairs,
                                    std::optional<ReusePicture> picture);

/// A self-contained SVG document. @throws InvalidParameter when the chosen fidelity has nothing to draw.
[[nodiscard]] std::string reuse_svg(const ReuseRequest& request, const std::vector<ReusePair>& pairs,
                                    ReusePicture picture);

}  // namespace natten_sim::cli
