#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/core/names.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/trust_report.hpp>

namespace natten_sim::report {
namespace {

using validate::JudgedAnswer;
using validate::TrustRow;

constexpr double kMsOfNs = 1e-6;

std::string percent(double share, int decimals) { return fmt::format("{:.{}f}%", 100 * share, decimals); }

Json regime_row(const TrustRow& row) {
  return {{"kind", row.kind},
          {"device", row.device},
          {"regime", row.regime},
          {"points", row.points},
          {"inside", row.inside},
          {"share", row.share},
          {"width", row.width},
          {"median_error", row.median_error},
          {"worst_error", row.worst_error},
          {"verdict", to_string(row.verdict)}};
}

Json answer_row(const JudgedAnswer& answer) {
  return {{"kind", answer.kind},
          {"device", answer.device},
          {"regime", answer.regime},
          {"suite", answer.suite},
          {"point", answer.point},
          {"predicted_ms", answer.predicted * kMsOfNs},
          {"low_ms", answer.low * kMsOfNs},
          {"high_ms", answer.high * kMsOfNs},
          {"measured_ms", answer.measured * kMsOfNs},
          {"inside", answer.inside()}};
}

/// "Of 2,104 answers 1,990 lie inside (94.6%); of 41 regimes with 20 answers or more 36 hold 85% to 97%, ..."
std::string sum_text(const std::vector<TrustRow>& rows) {
  std::size_t points = 0, inside = 0, holds = 0, narrow = 0, wide = 0;
  for (const TrustRow& row : rows) {
    points += row.points;
    inside += row.inside;
    holds += row.verdict == validate::TrustVerdict::kHolds ? 1 : 0;
    narrow += row.verdict == validate::TrustVerdict::kNarrow ? 1 : 0;
    wide += row.verdict == validate::TrustVerdict::kWide ? 1 : 0;
  }
  std::string text = fmt::format("\nOf {} {} lie inside ({}). Intervals are meant to hold 90%.", counted(points, "answer"),
                                 grouped(inside), percent(static_cast<double>(inside) / static_cast<double>(points), 1));
  if (holds + narrow + wide > 0)
    text += fmt::format(" Of {} with {} answers or more, {} hold 85% to 97%, {} less, {} more.",
                        counted(holds + narrow + wide, "regime"), validate::kFewestJudged, holds, narrow, wide);
  return wrapped_text(text);
}

}  // namespace

std::string trust_text(const std::vector<JudgedAnswer>& answers) {
  std::vector<std::vector<std::string>> table = {
      {"kind", "device", "regime", "answers", "inside", "interval", "median error", "worst", "verdict"}};
  const std::vector<TrustRow> rows = validate::trust(answers);
  for (const TrustRow& row : rows)
    table.push_back({row.kind, row.device, row.regime, std::to_string(row.points), percent(row.share, 0),
                     "+" + percent(row.width, 0), percent(row.median_error, 1), percent(row.worst_error, 0),
                     to_string(row.verdict)});
  return text_table(table) + sum_text(rows);
}

std::string judged_answers_text(std::vector<JudgedAnswer> answers) {
  std::stable_partition(answers.begin(), answers.end(), [](const JudgedAnswer& answer) { return !answer.inside(); });
  std::vector<std::vector<std::string>> table = {
      {"device", "predicted ms", "low", "high", "measured", "inside", "answer"}};
  for (const JudgedAnswer& answer : answers)
    table.push_back({answer.device, fmt::format("{:.4g}", answer.predicted * kMsOfNs),
                     fmt::format("{:.4g}", answer.low * kMsOfNs), fmt::format("{:.4g}", answer.high * kMsOfNs),
                     fmt::format("{:.4g}", answer.measured * kMsOfNs), answer.inside() ? "yes" : "no", answer.point});
  return text_table(table, LastColumn::kLeft);
}

Json trust_fields(const std::vector<JudgedAnswer>& answers, bool with_answers) {
  Json fields = {{"level", 0.9}, {"regimes", trust_rows(answers)}};
  if (with_answers) fields["answers"] = judged_answer_rows(answers);
  return fields;
}

std::vector<Json> trust_rows(const std::vector<JudgedAnswer>& answers) {
  std::vector<Json> rows;
  for (const TrustRow& row : validate::trust(answers)) rows.push_back(regime_row(row));
  return rows;
}

std::vector<Json> judged_answer_rows(const std::vector<JudgedAnswer>& answers) {
  std::vector<Json> rows;
  for (const JudgedAnswer& answer : answers) rows.push_back(answer_row(answer));
  return rows;
}

}  // namespace natten_sim::report
