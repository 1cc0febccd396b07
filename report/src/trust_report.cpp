#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/core/names.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/trust_report.hpp>

namespace natten_sim::report {
namespace {

using validate::JudgedAnswer;
using validate::TrustRow;

constexpr double kMsOfNs = 1e-6;

/// What `trust` answers.
struct Judged {
  std::vector<TrustRow> regimes;
  const std::vector<JudgedAnswer>* answers;  ///< null: not asked
};

std::string percent(double share, int decimals) { return fmt::format("{:.{}f}%", 100 * share, decimals); }

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

template <typename Members>
void describe(Members& m, Of<TrustRow>) {
  m.put("kind", &TrustRow::kind, "Kind of answer: time, schedule or scatter");
  m.put("device", &TrustRow::device);
  m.put("regime", &TrustRow::regime, "Answers whose errors are alike");
  m.put("points", &TrustRow::points, "Measured launches that no constant behind the answers was fitted to");
  m.put("inside", &TrustRow::inside, "Launches inside the interval that was stated");
  m.put("share", &TrustRow::share, "Share of launches inside, 0..1");
  m.put("width", &TrustRow::width, "Median of the interval's upper end over the prediction, less 1");
  m.put("median_error", &TrustRow::median_error, "Median of |measured / predicted - 1|");
  m.put("worst_error", &TrustRow::worst_error, "Largest |measured / predicted - 1|");
  m.put("verdict", &TrustRow::verdict, "Whether the interval holds about 90%; few: too few launches to say");
}

template <typename Members>
void describe(Members& m, Of<JudgedAnswer>) {
  using A = JudgedAnswer;
  m.put("kind", &A::kind, "Kind of answer: time, schedule or scatter");
  m.put("device", &A::device);
  m.put("regime", &A::regime, "Answers whose errors are alike");
  m.put("suite", &A::suite);
  m.put("point", &A::point, "The launch, by its key in the recording");
  m.put(
      "predicted_ms", [](const A& a) { return a.predicted * kMsOfNs; }, "Predicted time");
  m.put(
      "low_ms", [](const A& a) { return a.low * kMsOfNs; }, "Lower end of the interval that was stated");
  m.put(
      "high_ms", [](const A& a) { return a.high * kMsOfNs; }, "Upper end of the interval that was stated");
  m.put(
      "measured_ms", [](const A& a) { return a.measured * kMsOfNs; }, "Measured time, the median");
  m.put("inside", &A::inside, "Whether the measured time is inside the interval");
}

template <typename Members>
void describe(Members& m, Of<Judged>) {
  m.put(
      "level", [](const Judged&) { return 0.9; },
      "Share of measured times that an interval is meant to hold");
  m.put("regimes", &Judged::regimes, "A row per regime and device");
  m.optional("answers", &Judged::answers, "Every answer, where asked for");
}

Json trust_fields(const std::vector<JudgedAnswer>& answers, bool with_answers) {
  return json_of(Judged{validate::trust(answers), with_answers ? &answers : nullptr});
}

Json trust_schema() { return schema_of<Judged>(); }

std::vector<Json> trust_rows(const std::vector<JudgedAnswer>& answers) {
  return rows_of(validate::trust(answers));
}

std::vector<Json> judged_answer_rows(const std::vector<JudgedAnswer>& answers) { return rows_of(answers); }

}  // namespace natten_sim::report
