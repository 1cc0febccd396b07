#pragma once

#include <optional>
#include <string>

#include <natten_sim/validate/compare/verdict.hpp>

namespace natten_sim::validate {

/// One published figure beside ours.
struct PublishedRow {
  std::string figure;  ///< place in the publication: "table 4.3"
  std::string item;    ///< what it counts or times
  std::string published;
  std::string ours;
  /// ours - published, or ours / published - 1 when `relative`; 0 for texts.
  double deviation = 0;
  double tolerance = 0;  ///< of the deviation's size; texts must be equal
  Verdict verdict = Verdict::kWithin;
  std::string note;
  /// Whether this project's constants were fitted to this figure; absent if nothing in this work is fitted.
  std::optional<bool> fitted = std::nullopt;
  /// Whether the numbers are compared by their ratio, as times are. The tolerance bounds the deviation; for
  /// contended times it bounds by how much the larger of the ratio and its inverse exceeds 1.
  bool relative = false;
  /// Whether ours is a constant that does not depend on what the row asks, so that agreeing shows nothing.
  bool by_construction = false;
};

/// A row for two numbers, within the tolerance or outside it. The published one is printed with up to six
/// significant digits, ours with four decimals, or without any when the tolerance is 0.
[[nodiscard]] PublishedRow number_row(std::string figure, std::string item, double published, double ours,
                                      double tolerance, std::string note = "");

/// A row for two texts, judged by the caller.
[[nodiscard]] PublishedRow text_row(std::string figure, std::string item, std::string published,
                                    std::string ours, bool within, std::string note = "");

/// Turns a new miss into a known one and adds the reason to its note. Other verdicts stay.
void mark_known(PublishedRow& row, const std::string& reason);

}  // namespace natten_sim::validate
