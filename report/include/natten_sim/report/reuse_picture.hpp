#pragma once

#include <string>

#include <natten_sim/core/names.hpp>
#include <natten_sim/study/reuse.hpp>

namespace natten_sim::report {

/// Stack distances of one problem, its misses at every capacity, or misses over the lengths of a sweep.
enum class ReusePicture { kHistogram, kCurve, kSweep };

/// A self-contained SVG document. @throws InvalidParameter when the answer has nothing to draw.
[[nodiscard]] std::string reuse_svg(const study::ReuseAnswer& answer, ReusePicture picture);

}  // namespace natten_sim::report

namespace natten_sim {

template <>
struct NamesOf<report::ReusePicture> {
  static constexpr const char* kConcept = "picture";
  static constexpr Name<report::ReusePicture> kTable[] = {{report::ReusePicture::kHistogram, "histogram"},
                                                          {report::ReusePicture::kCurve, "curve"},
                                                          {report::ReusePicture::kSweep, "sweep"}};
};

}  // namespace natten_sim
