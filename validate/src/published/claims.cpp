#include "published/claims.hpp"

#include <algorithm>
#include <memory>
#include <random>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/study/time.hpp>
#include <natten_sim/validate/cases/timed_run.hpp>
#include <natten_sim/validate/published/published_work.hpp>

#include "registry/embedded_validation.hpp"

namespace natten_sim::validate {
namespace {

constexpr double kMsOfNs = 1e-6;

/// Rows of which every update goes to the first with some probability, else anywhere.
class HotShare final : public IndexStream {
 public:
  HotShare(std::int64_t updates, std::int64_t rows, double share)
      : left_(updates), hot_(share), any_(0, rows - 1) {}
  std::size_t read(std::span<std::int64_t> rows) override {
    const auto count = std::min(rows.size(), static_cast<std::size_t>(left_));
    for (std::int64_t& row : rows.first(count)) row = hot_(random_) ? 0 : any_(random_);
    left_ -= static_cast<std::int64_t>(count);
    return count;
  }

 private:
  std::int64_t left_;
  std::mt19937_64 random_{0};
  std::bernoulli_distribution hot_;
  std::uniform_int_distribution<std::int64_t> any_;
};

study::ScatterQuestion scatter_question(const StrictObject& fields) {
  study::ScatterQuestion question;
  const std::int64_t updates = fields.integer("updates", {1, kMaxUpdates});
  question.updates = updates;
  question.rows = fields.integer("rows", {1, kMaxRows});
  question.width = fields.integer("width", {1, 1 << 20});
  question.dtype = parse_name<Dtype>(fields.text("dtype"));
  question.construct = fields.text("construct");
  question.device = fields.text("device");
  question.values = parse_name<UpdateValues>(fields.text_or("values", "normal"));
  question.prior_runs = fields.integer_or("prior_runs", question.prior_runs, {0, 1 << 20});
  if (!fields.has("hot_share")) return question;
  const double share = fields.number("hot_share");
  if (!(share >= 0 && share <= 1)) fields.fail("hot_share", "a share, 0..1");
  question.source = study::GivenRows{"half to one row", [updates, share](std::int64_t rows) {
                                       return std::make_unique<HotShare>(updates, rows, share);
                                     }};
  return question;
}

ClaimAnswer scatter_answer(const Claim& claim, const study::Context& context) {
  const StrictObject fields(claim.question, claim.item,
                            {"updates", "rows", "width", "dtype", "construct", "device", "values",
                             "prior_runs", "hot_share"});
  return {study::scatter(scatter_question(fields), context).cost.prediction.time_ns * kMsOfNs, ""};
}

ClaimAnswer time_answer(const Claim& claim, const study::Context& context) {
  std::vector<std::string> keys = timed_run_parameters();
  keys.insert(keys.end(), {"kernel", "device"});
  const StrictObject fields(claim.question, claim.item, {keys.begin(), keys.end()});
  KernelRun run = read_timed_run(fields, fields.text("kernel"));
  run.device = fields.text("device");
  const study::TimeAnswer answer = study::time(study::time_question(run), context);
  if (const auto* missing = std::get_if<study::MissingTime>(&answer)) return {std::nullopt, missing->sentence};
  const auto& time = std::get<study::PassTime>(answer);
  return {claim.unit == "ms" ? time.kernel_ms : time.tflops_per_s, ""};
}

ClaimAnswer row_answer(const Claim& claim, const study::Context& context, RowsOfWorks& works) {
  const StrictObject fields(claim.question, claim.item, {"work", "figure", "item"});
  const auto [found, is_new] = works.try_emplace(fields.text("work"));
  if (is_new) found->second = published_work(found->first).reproduce(context);
  for (const PublishedRow& row : found->second) {
    if (row.figure == fields.text("figure") && row.item == fields.text("item")) return {row.ours_value, ""};
  }
  throw MalformedData(claim.item, claim.question.dump(), "a row of that work");
}

void add_claims(const SuiteText& text, std::vector<Claim>& all) {
  const Json root = parse_strict(text.json, text.where, "natten-sim.claims/1");
  const StrictObject file(root, text.where, {"schema", "publisher", "claims"});
  for (const Json& entry : file.array("claims")) {
    const StrictObject fields(entry, text.where,
                              {"item", "source", "date", "release", "gpu", "value", "unit", "fitted", "note",
                               "time", "scatter", "row"});
    Claim claim{file.text("publisher"), fields.text("item"),          fields.text("source"),
                fields.text("date"),    fields.text("release"),       fields.text("gpu"),
                fields.text_or("note", ""), fields.number("value"), fields.text("unit")};
    claim.fitted = fields.boolean_or("fitted", false);
    for (const char* kind : {"time", "scatter", "row"}) {
      if (fields.has(kind)) claim.kind = kind;
    }
    if (claim.kind.empty()) fields.fail("time", "a question: time, scatter or row");
    if (!(claim.value > 0)) fields.fail("value", "a number above 0");
    claim.question = entry.at(claim.kind);
    all.push_back(std::move(claim));
  }
}

}  // namespace

std::vector<Claim> published_claims() {
  std::vector<Claim> all;
  for (const SuiteText& text : embedded::claims()) add_claims(text, all);
  return all;
}

ClaimAnswer answer_claim(const Claim& claim, const study::Context& context, RowsOfWorks& works) {
  try {
    if (claim.kind == "time") return time_answer(claim, context);
    if (claim.kind == "scatter") return scatter_answer(claim, context);
  } catch (const InvalidParameter& refused) {
    return {std::nullopt, refused.what()};
  } catch (const UnknownName& refused) {
    return {std::nullopt, refused.what()};
  }
  return row_answer(claim, context, works);
}

}  // namespace natten_sim::validate
