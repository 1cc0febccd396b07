#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/study/advise.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/conclusion/count.hpp>
#include <natten_sim/study/conclusion/msda.hpp>
#include <natten_sim/study/conclusion/reuse.hpp>
#include <natten_sim/study/conclusion/schedule.hpp>
#include <natten_sim/study/kernel_schedule.hpp>
#include <natten_sim/study/mask.hpp>
#include <natten_sim/study/plan.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/study/search.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/published/published_row.hpp>

namespace natten_sim::report {

/// How an answer ends: what limits it, what to change first, by how much, how sure. The numbers are those of
/// study/'s conclusions.
///
///     In short: the busiest Q tile visits 210 KV tiles, 1.37 times the mean; first take Q tile 2x8x8 with KV
///         tile 2x8x8: 1.19x faster (80.2 ms to 67.4 ms); runs that were left out of the fit are off by 3.4%.
struct Closing {
  std::string limit;
  std::string change;          ///< what to do; empty: nothing
  std::string gain_text;       ///< empty with an empty change, or where nothing is promised
  std::optional<double> gain;  ///< before over after
  std::string certainty;
  std::optional<study::ReuseInterval>
      interval;                   ///< between which values the answer lies, and by what; none: not asked
  Json options = Json::object();  ///< the change as options of the subcommand, by their names in `input`
};

[[nodiscard]] Closing closing_of(const study::CountAnswer& answer, const study::CountConclusion& end);
[[nodiscard]] Closing closing_of(const study::ReuseAnswer& answer, const study::ReuseConclusion& end);
[[nodiscard]] Closing closing_of(const study::ScheduleAnswer& answer, const study::ScheduleConclusion& end);
[[nodiscard]] Closing closing_of(const study::KernelScheduleAnswer& answer);
[[nodiscard]] Closing closing_of(const study::MsdaAnswer& answer, const study::MsdaConclusion& end);
/// Requires remedies.
[[nodiscard]] Closing closing_of(const study::ScatterAnswer& answer);
[[nodiscard]] Closing closing_of(std::span<const study::SearchAnswer> answers);
[[nodiscard]] Closing closing_of(const study::AdviseAnswer& answer);
[[nodiscard]] Closing closing_of(const study::PlanAnswer& answer);
[[nodiscard]] Closing closing_of(const study::MaskAnswer& answer);
[[nodiscard]] Closing closing_of(const validate::Comparison& comparison);
/// Requires a pass.
[[nodiscard]] Closing closing_of(const study::CalibrateAnswer& answer);
[[nodiscard]] Closing closing_of(const std::vector<validate::PublishedRow>& rows);

/// One sentence, without a line break.
[[nodiscard]] std::string sentence(const Closing& closing);

/// An empty line and the sentence, wrapped; nothing without one.
[[nodiscard]] std::string closing_text(const std::optional<Closing>& closing);

/// {"sentence", "limit", "change", "options", "gain", "certainty"}
[[nodiscard]] Json closing_fields(const Closing& closing);
[[nodiscard]] Json closing_schema();

/// Adds them as `conclusion`; nothing without one.
void add_closing(const std::optional<Closing>& closing, Json& result);

}  // namespace natten_sim::report
