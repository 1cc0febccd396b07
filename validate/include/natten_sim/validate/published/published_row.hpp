#pragma once

#include <optional>
#include <string>

#include <natten_sim/validate/compare/verdict.hpp>

namespace natten_sim::validate {

/// Where a picture shows a number. Rows of a figure that have no axis are listed by their item.
struct RowPlace {
  std::string unit{};                       ///< of the numbers: "ms"; empty: a pure number
  std::string series{};                     ///< the line of a picture that it belongs to
  std::string axis{};                       ///< the quantity across: "tokens"
  std::optional<double> at = std::nullopt;  ///< its value
};

/// What this project measured for the same item, on a GPU of its own choice.
struct MeasuredBeside {
  double value = 0;       ///< in the row's unit
  std::string device;     ///< "NVIDIA H200"
  std::string recording;  ///< file of data/recordings
};

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
  std::optional<double> published_value = std::nullopt;  ///< absent for texts, and where none is printed
  std::optional<double> ours_value = std::nullopt;       ///< absent for texts, and where nothing is predicted
  RowPlace place = {};
  std::optional<MeasuredBeside> measured = std::nullopt;
  std::string work = "", source = "";  ///< set by reproduce_work
};

/// A row for two numbers, within the tolerance or outside it. The published one is printed with up to six
/// significant digits, ours with four decimals, or without any when the tolerance is 0.
[[nodiscard]] PublishedRow number_row(std::string figure, std::string item, double published, double ours,
                                      double tolerance, std::string note = "");

/// A row for two texts, judged by the caller.
[[nodiscard]] PublishedRow text_row(std::string figure, std::string item, std::string published,
                                    std::string ours, bool within, std::string note = "");

/// A row that nobody judges: the paper prints a number that nothing here predicts, or draws one without
/// printing it, or both.
[[nodiscard]] PublishedRow shown_row(std::string figure, std::string item, std::optional<double> published,
                                     std::optional<double> ours, std::string note = "");

/// The row, with its place in pictures.
[[nodiscard]] PublishedRow placed(PublishedRow row, RowPlace place);

/// ours / published - 1; absent without two numbers, or if the published one is 0.
[[nodiscard]] std::optional<double> deviation_relative(const PublishedRow& row);

/// Turns a new miss into a known one and adds the reason to its note. Other verdicts stay.
void mark_known(PublishedRow& row, const std::string& reason);

}  // namespace natten_sim::validate
