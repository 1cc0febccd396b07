#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/validate/compare/trust.hpp>

#include "registry/embedded_validation.hpp"

namespace natten_sim::validate {
namespace {

/// Median; of an even number the lower of the two in the middle. Requires at least one.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

TrustVerdict verdict_of(const TrustRow& row) {
  if (row.points < kFewestJudged) return TrustVerdict::kFew;
  if (row.share < kLeastInside) return TrustVerdict::kNarrow;
  return row.share > kMostInside ? TrustVerdict::kWide : TrustVerdict::kHolds;
}

TrustRow row_of(const std::vector<const JudgedAnswer*>& answers) {
  const JudgedAnswer& first = *answers.front();
  TrustRow row{.kind = first.kind, .device = first.device, .regime = first.regime, .points = answers.size()};
  std::vector<double> widths, errors;
  for (const JudgedAnswer* answer : answers) {
    row.inside += answer->inside() ? 1 : 0;
    widths.push_back(answer->high / answer->predicted - 1);
    errors.push_back(std::abs(answer->measured / answer->predicted - 1));
  }
  row.share = static_cast<double>(row.inside) / static_cast<double>(row.points);
  row.worst_error = *std::max_element(errors.begin(), errors.end());
  row.width = lower_median(std::move(widths));
  row.median_error = lower_median(std::move(errors));
  row.verdict = verdict_of(row);
  return row;
}

/// [point, predicted, low, high, measured].
JudgedAnswer read_answer(const Json& cells, const StrictObject& group) {
  constexpr const char* kKey = "answers";
  if (!cells.is_array() || cells.size() != 5 || !cells[0].is_string()) group.fail(kKey, "rows of a point and four numbers");
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (!cells[i].is_number()) group.fail(kKey, "rows of a point and four numbers");
  }
  JudgedAnswer answer{group.text("kind"),        group.text("device"),      group.text("regime"),
                      group.text("suite"),       cells[0].get<std::string>(), cells[1].get<double>(),
                      cells[2].get<double>(), cells[3].get<double>(),     cells[4].get<double>()};
  if (!(answer.predicted > 0 && answer.measured > 0)) group.fail(kKey, "positive times");
  return answer;
}

}  // namespace

std::vector<JudgedAnswer> judged_answers(const Comparison& comparison) {
  std::vector<JudgedAnswer> answers;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.interval || row.fitted) continue;
    answers.push_back({row.interval->kind, row.device, row.interval->regime, row.suite, row.point, row.predicted,
                       row.interval->low, row.interval->high, row.measured});
  }
  return answers;
}

std::vector<JudgedAnswer> parse_judged_answers(std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, "natten-sim.judged-answers/1");
  std::vector<JudgedAnswer> answers;
  for (const Json& entry : StrictObject(document, where, {"schema", "groups"}).array("groups")) {
    const StrictObject group(entry, where, {"kind", "device", "regime", "suite", "answers"});
    for (const Json& cells : group.array("answers")) answers.push_back(read_answer(cells, group));
  }
  return answers;
}

std::vector<JudgedAnswer> stored_judged_answers() {
  std::vector<JudgedAnswer> answers;
  for (const SuiteText& text : embedded::judged_answers()) {
    std::vector<JudgedAnswer> more = parse_judged_answers(text.json, text.where);
    std::move(more.begin(), more.end(), std::back_inserter(answers));
  }
  return answers;
}

std::vector<TrustRow> trust(const std::vector<JudgedAnswer>& answers) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<const JudgedAnswer*>> regimes;
  for (const JudgedAnswer& answer : answers) regimes[{answer.kind, answer.device, answer.regime}].push_back(&answer);
  std::vector<TrustRow> rows;
  for (const auto& [regime, of_it] : regimes) rows.push_back(row_of(of_it));
  return rows;
}

}  // namespace natten_sim::validate
