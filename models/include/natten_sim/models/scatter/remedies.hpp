#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/models/scatter/contention_fit.hpp>

namespace natten_sim {

/// What a remedy asks of its user, the least first.
enum class RemedyEffort {
  kNone,         ///< nothing: as it is
  kArgument,     ///< an argument of the same call
  kOperator,     ///< another operator of the framework
  kBuffer,       ///< a buffer, and calls that zero it and add it up
  kInstruction,  ///< another instruction in a kernel of your own
  kKernel        ///< another algorithm in a kernel of your own
};

template <>
struct NamesOf<RemedyEffort> {
  static constexpr const char* kConcept = "effort";
  static constexpr Name<RemedyEffort> kTable[] = {
      {RemedyEffort::kNone, "none"},     {RemedyEffort::kArgument, "argument"},
      {RemedyEffort::kOperator, "operator"}, {RemedyEffort::kBuffer, "buffer"},
      {RemedyEffort::kInstruction, "instruction"}, {RemedyEffort::kKernel, "kernel"}};
};

struct Remedy {
  std::string name;
  RemedyEffort effort = RemedyEffort::kNone;
  double time_ns = 0;
  std::int64_t extra_bytes = 0;  ///< additional memory
  ContentionBound bound = ContentionBound::kIssue;
  std::optional<std::string> construct;  ///< the row of the lowering table that it is, if it is one
  std::optional<BlindScore> blind;       ///< of a remedy that was timed; compare_remedies() leaves it out
  std::optional<TimeInterval> interval;  ///< the same
};

/// The name of doing nothing.
inline constexpr const char* kAsIs = "as-is";

/// Remedies that take up to this many times as long as a faster one are as fast as that one.
inline constexpr double kEquallyFast = 1.05;

/// The same additions by another construct of the lowering table.
struct OtherConstruct {
  std::string remedy;
  RemedyEffort effort = RemedyEffort::kNone;
  std::string construct;
  ScatterLoad load;
};

/// The load as it is (kAsIs), by each other construct, and with each of the remedies below, fastest first.
/// Beginning with the fastest, those that are as fast as it is (kEquallyFast) are in the order of their effort:
/// - fp32-accumulator: fp32 reductions into a buffer of its own, zeroed before and converted after;
/// - warp-, block-, sort-pre-reduction: fewer updates reach memory, at a cost for each element;
/// - private-copies-8: eight destinations, zeroed before and added up afterwards. A CTA takes the copy of its
///   number, so rows that updates visit in turn (`turn_rows`) may meet one copy only.
/// On a device with RemedyCosts, zeroing, adding up and sorting cost what this project's kernels took there:
/// a sort is its launches, and a time for each update, each 32 elements that are summed or written, and each
/// 64 updates of the hottest row, which one thread joins. Other devices have `costs`.
/// `table_rows` is the number of rows of the destination. @throws as predict_contention.
[[nodiscard]] std::vector<Remedy> compare_remedies(const ScatterLoad& load, std::int64_t table_rows,
                                                   const ContentionProfile& profile,
                                                   const std::vector<OtherConstruct>& others,
                                                   const PreReductionCosts& costs);

}  // namespace natten_sim
