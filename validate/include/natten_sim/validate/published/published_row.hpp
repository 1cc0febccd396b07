#pragma once

#include <optional>
#include <string>

#include <natten_sim/validate/compare/verdict.hpp>

namespace natten_sim::validate {

/// One published figure beside ours.
struct PublishedRow {
  std::string figure;  ///< where it stands: "table 4.3"
  std::string item;    ///< what it counts or times
  std::string published;
  std::string ours;
  /// ours - published, or ours / published - 1 when `relative`; 0 for texts.
  double deviation = 0;
  double tolerance = 0;  ///< of the deviation's size; texts must be equal
  Verdict verdict = Verdict::kWithin;
  std::string note;
  /// Whether constants of ours were fitted to this figure; none: nothing in this work is fitted.
  std::optional<bool> fitted = std::nullopt;
  /// Times compare by their ratio. The tolerance bounds the deviation, or, for contended times, what the
  /// larger of ratio and inverse exceeds 1 by.
  bool relative = false;
};

/// Two numbers: within the tolerance, or outside it. The published one is printed with up to six significant
/// digits, ours with four decimals, or without any when the tolerance is 0.
[[nodiscard]] PublishedRow number_row(std::string figure, std::string item, double published, double ours,
                                      double tolerance, std::string note = "");

/// Two texts, judged by the caller.
[[nodiscard]] PublishedRow text_row(std::string figure, std::string item, std::string published,
                                    std::string ours, bool within, std::string note = "");

/// Turns a new miss into a known one and adds the reason to its note. Other verdicts stay.
void mark_known(PublishedRow& row, const std::string& reason);

}  // namespace natten_sim::validate
